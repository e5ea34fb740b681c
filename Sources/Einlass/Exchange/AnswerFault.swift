internal import EinlassJSON

extension HTTPResponse {
  /// Returns the JSON value of the body. A byte order mark before it is skipped (RFC 8259 section
  /// 8.1).
  func json() throws(JSONReadError) -> JSONValue {
    try JSONReader.read(body[(body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)...])
  }

  /// Whether the body is a page for people.
  private var isPage: Bool {
    let start = body.prefix(1 << 10).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
    return start.first == UInt8(ascii: "<")
  }

  /// The trait by which an answer is not the provider's own word, as the end of a sentence: a
  /// redirect, or a page for people. A network that wants a sign-in of its own answers so. `nil` for
  /// any other answer.
  var foreignTrait: String? {
    guard !isRedirect else {
      let place = header("location").flatMap { try? WebAddress.parse($0) }
      return place.map { "redirects to \($0.host)" } ?? "redirects"
    }
    return isPage ? "is a web page" : nil
  }

  /// Whether a refusal is more likely a proxy's word than that of a token endpoint, which has 400 or
  /// 401 and a JSON error (RFC 6749 section 5.2): one of another status without an error, and one
  /// about the way of the request (RFC 9110 sections 15.5.8 and 15.5.9, RFC 8470 section 5.2).
  func isByProxy(_ errorText: ProviderErrorText?) -> Bool {
    [407, 408, 425].contains(status) || errorText == nil && ![400, 401].contains(status)
  }

  private var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  /// The reason why the answer is no JSON object, as the end of a sentence; `nil` for an object.
  var fault: String? {
    if let foreignTrait { return foreignTrait }
    guard !body.isEmpty else { return "is empty" }
    do throws(JSONReadError) { return try json().object == nil ? "is no JSON object" : nil } catch {
      return switch error {
      case .invalidUTF8: "is not UTF-8"
      case .invalidJSON: "is not JSON"
      case .tooDeep: "is nested too deeply"
      case .duplicateKey(let name): "has the name \(shownName(name) ?? "of a member") twice"
      }
    }
  }

  /// Returns the address of a redirect that may be followed: within the origin of a GET without
  /// `Authorization`, body or cookies.
  fileprivate func target(of request: HTTPRequest) -> WebAddress? {
    guard isRedirect, request.method == .get, request.body.isEmpty, request.cookies == nil,
      !request.headers.contains(where: { $0.name.lowercased() == "authorization" }),
      let place = header("location"), let target = request.address.target(of: place),
      target.origin == request.address.origin, target != request.address
    else { return nil }
    return target
  }

  /// Returns the answer with a whole address in `Location`, so that words about it can name the host.
  fileprivate func resolved(at address: WebAddress) -> HTTPResponse {
    guard let index = headers.firstIndex(where: { $0.name == "location" }),
      let target = address.target(of: headers[index].value)
    else { return self }
    var response = self
    response.headers[index].value = target.text
    return response
  }
}

/// Returns a provider's name for a member or a type if it looks like one, so that a message can
/// contain it; `nil` for any other text.
func shownName(_ text: String) -> String? {
  let isName = text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
  return isName && (1...32).contains(text.utf8.count) ? text : nil
}

extension WebAddress {
  /// Returns the address that a `Location` header of an answer from here names. RFC 9110 section
  /// 10.2.2. `nil` for an empty one and for one of another scheme.
  fileprivate func target(of location: String) -> WebAddress? {
    let place = location.prefix { $0 != "#" }
    guard !place.isEmpty else { return nil }
    // A colon in the first segment is the end of a scheme. RFC 3986 section 4.2.
    let isAbsolute = place.prefix { $0 != "/" && $0 != "?" }.utf8.contains(UInt8(ascii: ":"))
    let beginning: String =
      if isAbsolute {
        ""
      } else if place.hasPrefix("//") {
        "\(scheme.rawValue):"
      } else if place.hasPrefix("/") {
        origin
      } else if place.hasPrefix("?") {
        origin + path
      } else {
        origin + (path.lastIndex(of: "/").map { path[...$0] } ?? "/")
      }
    return try? WebAddress.parse(beginning + place)
  }
}

extension Effects {
  /// Sends a GET for a document without secrets, and follows at most three redirects within its
  /// origin. Any other redirect is returned.
  func document(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var request = request
    var response = try await send(request)
    for _ in 0..<3 {
      guard let target = response.target(of: request) else { break }
      request.address = target
      response = try await send(request)
    }
    return response.resolved(at: request.address)
  }
}
