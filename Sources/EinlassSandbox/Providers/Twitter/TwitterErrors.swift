import EinlassJSON

/// The reason why Twitter refuses a request.
enum TwitterRefusal: Error {
  case error(TwitterError)
  /// The record of the exhausted limit.
  case limit(JSONValue)
  /// The HTML page with status 200 that `access_token` returned for suspended accounts.
  case suspensionPage

  func answer(in world: inout World) -> Answer {
    switch self {
    case .error(let error):
      world.note("answer", false, "\(error.rawValue) \(error.message)")
      return error.answer()
    case .limit(let record):
      let header = { (name: String, member: String) in
        Parameter(name: "x-rate-limit-\(name)", value: String(record[member]?.int64 ?? 0))
      }
      return TwitterError.rateLimit.answer(headers: [
        header("limit", "limit"), header("remaining", "remaining"), header("reset", "resetAt"),
      ])
    case .suspensionPage:
      world.note("answer", false, "the page for suspended accounts")
      return .text(Self.page, type: "text/html; charset=utf-8")
    }
  }

  /// More than 3000 bytes, because clients recognized the page by its size.
  private static let page =
    "<!DOCTYPE html>\n<html><head><title>Twitter / Account suspended</title></head><body>\n"
    + String(repeating: "<p>This account is currently suspended.</p>\n", count: 100)
    + "</body></html>\n"
}

/// Twitter's error codes, as far as they are simulated.
enum TwitterError: Int64 {
  case couldNotAuthenticate = 32
  case noSuchPage = 34
  case notAuthorized = 37
  case suspended = 64
  case notPermitted = 87
  case rateLimit = 88
  case invalidToken = 89
  case timestamp = 135
  case badAuthenticationData = 215
  case noAccess = 220
  case locked = 326
  case callbackNotApproved = 415
  case applicationSuspended = 416

  /// Returns the error for a wrongly signed request.
  init(_ refusal: OAuth1Check.Refusal) {
    self =
      switch refusal {
      case .noAuthorization, .malformed: .badAuthenticationData
      case .timestamp: .timestamp
      case .unknownApplication, .nonceUsed, .signature, .tokenNotAllowed: .couldNotAuthenticate
      case .revokedApplication: .applicationSuspended
      case .tokenMissing: .noAccess
      case .tokenInvalid: .invalidToken
      }
  }

  var status: Int {
    switch self {
    case .couldNotAuthenticate, .invalidToken, .timestamp, .applicationSuspended: 401
    case .noSuchPage: 404
    case .notAuthorized, .suspended, .notPermitted, .noAccess, .locked, .callbackNotApproved: 403
    case .rateLimit: 429
    case .badAuthenticationData: 400
    }
  }

  var message: String {
    switch self {
    case .couldNotAuthenticate: "Could not authenticate you."
    case .noSuchPage: "Sorry, that page does not exist."
    case .notAuthorized: "Not authorized to use this endpoint."
    case .suspended: "Your account is suspended and is not permitted to access this feature."
    case .notPermitted: "Client is not permitted to perform this action."
    case .rateLimit: "Rate limit exceeded"
    case .invalidToken: "Invalid or expired token."
    case .timestamp: "Timestamp out of bounds."
    case .badAuthenticationData: "Bad Authentication data."
    case .noAccess: "Your credentials do not allow access to this resource."
    case .locked:
      "To protect our users from spam and other malicious activity, this account is temporarily locked. Please log in to https://twitter.com to unlock your account."
    case .callbackNotApproved:
      "Callback URL not approved for this client application. Approved callback URLs can be adjusted in your application settings"
    case .applicationSuspended: "Invalid / suspended application"
    }
  }

  func answer(headers: [Parameter] = []) -> Answer {
    .json(
      ["errors": [["code": JSONValue(rawValue), "message": .string(message)]]],
      status: status, headers: headers)
  }
}
