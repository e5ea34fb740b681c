import EinlassJSON

/// A response, and the way of sending it.
struct Answer: Sendable {
  /// Any number, also one outside the HTTP standard.
  var status: Int
  /// The headers in addition to the server's own.
  var headers: [Parameter] = []
  /// The bytes of the body, before the padding.
  var body: [UInt8] = []
  /// The number of spaces sent after `body`. They are never held in memory as a whole.
  var padding = 0
  var delivery = Delivery.whole

  /// The ways of sending a response, intact or damaged.
  enum Delivery: Sendable {
    case whole
    /// In chunks, without a length.
    case chunked
    /// The length of the whole body, but only half of it; then the connection ends.
    case cut
    /// Nothing; the connection ends.
    case closed

    /// Whether the connection stays open for another request.
    var keepsConnection: Bool { self == .whole || self == .chunked }
  }

  /// The length of the body in bytes, including the padding.
  var count: Int { body.count + padding }

  init(status: Int = 200, type: String, body: [UInt8], headers: [Parameter] = []) {
    self.status = status
    self.headers = [Parameter(name: "Content-Type", value: type)] + headers
    self.body = body
  }

  static func text(
    _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8"
  ) -> Answer {
    Answer(status: status, type: type, body: Array(text.utf8))
  }

  static func json(_ value: JSONValue, status: Int = 200, headers: [Parameter] = []) -> Answer {
    Answer(
      status: status, type: "application/json; charset=utf-8", body: value.bytes(),
      headers: headers)
  }

  static func redirect(to address: String) -> Answer {
    var answer = text("", status: 302)
    answer.headers.append(Parameter(name: "Location", value: address))
    return answer
  }

  /// The reason phrase. Clients ignore it.
  var phrase: String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 302: "Found"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 413: "Content Too Large"
    case 431: "Request Header Fields Too Large"
    case 505: "HTTP Version Not Supported"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    default: "Status"
    }
  }
}
