import EinlassJSON

/// What goes back for a request, and how much of it.
struct Answer: Sendable {
  /// The status, whatever it may be.
  var status: Int
  /// Beyond those that the server writes itself.
  var headers: [Parameter] = []
  /// The bytes of the body, or its beginning if `padding` says that more comes.
  var body: [UInt8] = []
  /// So many bytes are added to the body, without ever being held in memory.
  var padding = 0
  /// How it is sent.
  var delivery = Delivery.whole

  /// Whether an answer arrives as it should.
  enum Delivery: Sendable {
    case whole
    /// Without a length, in chunks.
    case chunked
    /// With the length of all, but only half of it; then the connection ends.
    case cut
    /// The connection ends without a byte.
    case closed

    /// Whether another request can follow.
    var keepsConnection: Bool { self == .whole || self == .chunked }
  }

  /// The bytes of the body, its padding among them.
  var count: Int { body.count + padding }

  /// An answer of some bytes.
  init(status: Int = 200, type: String, body: [UInt8], headers: [Parameter] = []) {
    self.status = status
    self.headers = [Parameter(name: "Content-Type", value: type)] + headers
    self.body = body
  }

  /// An answer in words.
  static func text(
    _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8"
  ) -> Answer {
    Answer(status: status, type: type, body: Array(text.utf8))
  }

  /// An answer in JSON.
  static func json(_ value: JSONValue, status: Int = 200, headers: [Parameter] = []) -> Answer {
    Answer(
      status: status, type: "application/json; charset=utf-8", body: value.bytes(),
      headers: headers)
  }

  /// Sends a browser elsewhere.
  static func redirect(to address: String) -> Answer {
    var answer = text("", status: 302)
    answer.headers.append(Parameter(name: "Location", value: address))
    return answer
  }

  /// How the status is called; clients don't care.
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
