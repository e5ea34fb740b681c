import EinlassJSON

/// A Graph error: `{"error": {"message", "type", "code", "error_subcode"?, "fbtrace_id"}}`.
struct FacebookError: Error, Sendable {
  /// The error code that clients act on.
  var code: Int64
  /// The flaw of a token, with code 190.
  var subcode: Int64?
  var message: String
  var type = "OAuthException"
  var status = 400

  func answer(trace: String) -> Answer {
    let error = JSONObject(present: [
      "message": .string(message), "type": .string(type), "code": JSONValue(code),
      "error_subcode": subcode.map { JSONValue($0) }, "fbtrace_id": .string(trace),
    ])
    let challenge = Parameter(
      name: "WWW-Authenticate", value: #"OAuth "Facebook Platform" "invalid_token" "\#(message)""#)
    return .json(
      ["error": .object(error)], status: status, headers: code == 190 ? [challenge] : [])
  }
}

// MARK: - Tokens

extension FacebookError {
  /// An unknown token.
  static let invalidToken = FacebookError(code: 190, message: "Invalid OAuth access token.")
  /// The user has removed the application or never authorized it.
  static func notAuthorized(_ application: String) -> FacebookError {
    session(458, "The user has not authorized application \(application).")
  }
  /// The user must log in on the web first.
  static let checkpointed = session(
    459,
    "You cannot access the app till you log in to www.facebook.com and follow the instructions given."
  )
  /// A password change voids earlier tokens.
  static let passwordChanged = session(
    460, "The session has been invalidated because the user has changed the password.")
  static let expired = session(463, "Session has expired.")
  /// The user must confirm the account first.
  static let unconfirmed = session(
    464, "Sessions for the user are not allowed because the user is not a confirmed user.")
  /// The token was revoked.
  static let loggedOut = session(467, "The session is invalid because the user logged out.")

  private static func session(_ subcode: Int64, _ message: String) -> FacebookError {
    FacebookError(
      code: 190, subcode: subcode, message: "Error validating access token: \(message)")
  }
}

// MARK: - Requests

extension FacebookError {
  static let noToken = FacebookError(
    code: 2500,
    message: "An active access token must be used to query information about the current user.")
  /// Another resource without a token.
  static let tokenRequired = FacebookError(
    code: 104, message: "An access token is required to request this resource.")
  /// Only a system token can be exchanged for others.
  static let capability = FacebookError(
    code: 3, message: "(#3) Application does not have the capability to make this API call.")
  /// The requested application is not registered.
  static let unknownApplication = FacebookError(
    code: 101, message: "remote_app_id does not match stored id")
  /// The application was revoked.
  static let applicationDeleted = FacebookError(
    code: 101, message: "Error validating application. Application has been deleted.")
  static let applicationLimit = FacebookError(
    code: 4, message: "(#4) Application request limit reached")
  static let userLimit = FacebookError(code: 17, message: "(#17) User request limit reached")
  /// The application requires a proof for its calls.
  static let proofMissing = FacebookError(
    code: 100, message: "API calls from the server require an appsecret_proof argument",
    type: "GraphMethodException")
  static let proofWrong = FacebookError(
    code: 100, message: "Invalid appsecret_proof provided in the API argument",
    type: "GraphMethodException")
  /// Returns the error for a polling device. Its subcode distinguishes the states.
  static func device(_ subcode: Int64, _ message: String) -> FacebookError {
    FacebookError(code: 31, subcode: subcode, message: message)
  }
  static func parameter(_ message: String) -> FacebookError {
    FacebookError(code: 100, message: "(#100) \(message)")
  }
  static func unknownPath(_ path: String) -> FacebookError {
    FacebookError(code: 2500, message: "Unknown path components: \(path)", status: 404)
  }
}
