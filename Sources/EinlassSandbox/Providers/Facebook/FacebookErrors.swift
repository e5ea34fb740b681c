import EinlassJSON

/// Why the Graph refuses: `{"error": {"message", "type", "code", "error_subcode"?, "fbtrace_id"}}`.
struct FacebookError: Error, Sendable {
  /// The code that decides what to do.
  var code: Int64
  /// What is wrong with a token, with code 190.
  var subcode: Int64?
  /// Facebook's words.
  var message: String
  /// Nearly always this.
  var type = "OAuthException"
  /// Nearly always this.
  var status = 400

  /// The error as the Graph sends it.
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
  /// A token that Facebook has never issued.
  static let invalidToken = FacebookError(code: 190, message: "Invalid OAuth access token.")
  /// The user has removed the application, or never permitted it.
  static func notAuthorized(_ application: String) -> FacebookError {
    session(458, "The user has not authorized application \(application).")
  }
  /// The user has to log in on the web first.
  static let checkpointed = session(
    459,
    "You cannot access the app till you log in to www.facebook.com and follow the instructions given."
  )
  /// The tokens of old passwords are void.
  static let passwordChanged = session(
    460, "The session has been invalidated because the user has changed the password.")
  /// The token was good once.
  static let expired = session(463, "Session has expired.")
  /// The user has to confirm the account first.
  static let unconfirmed = session(
    464, "Sessions for the user are not allowed because the user is not a confirmed user.")
  /// The token was withdrawn.
  static let loggedOut = session(467, "The session is invalid because the user logged out.")

  private static func session(_ subcode: Int64, _ message: String) -> FacebookError {
    FacebookError(
      code: 190, subcode: subcode, message: "Error validating access token: \(message)")
  }
}

// MARK: - Requests

extension FacebookError {
  /// `/me` without a token.
  static let noToken = FacebookError(
    code: 2500,
    message: "An active access token must be used to query information about the current user.")
  /// Anything else without a token.
  static let tokenRequired = FacebookError(
    code: 104, message: "An access token is required to request this resource.")
  /// Only the system's token can be turned into others.
  static let capability = FacebookError(
    code: 3, message: "(#3) Application does not have the capability to make this API call.")
  /// The identity of the application that asks is not one that is registered.
  static let unknownApplication = FacebookError(
    code: 101, message: "remote_app_id does not match stored id")
  /// The application was registered once.
  static let applicationDeleted = FacebookError(
    code: 101, message: "Error validating application. Application has been deleted.")
  /// Too many requests of one application.
  static let applicationLimit = FacebookError(
    code: 4, message: "(#4) Application request limit reached")
  /// Too many requests for one user.
  static let userLimit = FacebookError(code: 17, message: "(#17) User request limit reached")
  /// The application has decided that its calls carry a proof.
  static let proofMissing = FacebookError(
    code: 100, message: "API calls from the server require an appsecret_proof argument",
    type: "GraphMethodException")
  /// The proof is not that of token and secret.
  static let proofWrong = FacebookError(
    code: 100, message: "Invalid appsecret_proof provided in the API argument",
    type: "GraphMethodException")
  /// What a device that waits is told. Code 31, and the subcode decides.
  static func device(_ subcode: Int64, _ message: String) -> FacebookError {
    FacebookError(code: 31, subcode: subcode, message: message)
  }
  /// A parameter that is missing or wrong.
  static func parameter(_ message: String) -> FacebookError {
    FacebookError(code: 100, message: "(#100) \(message)")
  }
  /// Nothing is there.
  static func unknownPath(_ path: String) -> FacebookError {
    FacebookError(code: 2500, message: "Unknown path components: \(path)", status: 404)
  }
}
