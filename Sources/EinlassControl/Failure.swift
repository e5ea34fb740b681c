internal import EinlassJSON

/// Why a command ends without having done what it was asked to.
enum Failure: Error {
  /// einlass answered with an error.
  case refused(Refusal)
  /// What the person named can't be used: a sentence, and the next step.
  case unusable(String, NextStep? = nil)
  /// The command line is not complete or wrong, which only became clear later.
  case usage(String)
  /// The person pressed Ctrl-C or said no.
  case cancelled
  /// einlass did not start, or ended before it answered; with its exit code, if it had one.
  case noServer(String, code: Int32? = nil)
  /// Nobody reads what is printed.
  case outputLost
  /// Everything was done and shown; the answer is bad news.
  case badNews

  /// For faults of this program or of the machine.
  static let internalCode: Int32 = 70
  /// For command lines.
  static let usageCode: Int32 = 64

  /// What the process ends with.
  var exitCode: Int32 {
    switch self {
    case .refused, .unusable, .cancelled, .outputLost, .badNews: 1
    case .usage: Self.usageCode
    case .noServer(_, code: Self.usageCode): Self.usageCode
    case .noServer: Self.internalCode
    }
  }

  /// As programs read it, in the shape of einlass's own errors; `nil` where nothing is wrong with the answer, or nobody
  /// reads it.
  var json: JSONValue? {
    switch self {
    case .refused(let refusal): refusal.json
    case .unusable(let sentence, _): Self.json("unusable", sentence)
    case .usage(let sentence): Self.json("usage", sentence)
    case .noServer(let sentence, _): Self.json("noServer", sentence)
    case .cancelled: Self.json("cancelled", "Cancelled.")
    case .outputLost, .badNews: nil
    }
  }

  private static func json(_ reason: String, _ sentence: String) -> JSONValue {
    ["message": .string(sentence), "data": ["reason": .string(reason)]]
  }

  /// The same, of what was asked in this application's name.
  func asked(by application: String?) -> Failure {
    guard case .refused(var refusal) = self, let application else { return self }
    refusal.application = application
    return .refused(refusal)
  }
}

/// An error that einlass answered with. Protocol section 6.
struct Refusal {
  var code: Int64
  var message: String
  var data: JSONObject
  /// Who was refused, by the name that it gives itself.
  var application = "einlassctl"
  /// What a command calls the account that it is about; `nil`: by its id.
  var account: String?
  /// What the command that was refused knows better than the refusal.
  var ownStep: NextStep?

  /// The error object of an answer.
  init(_ error: JSONValue) {
    code = error["code"]?.int64 ?? 0
    message = error["message"]?.string ?? "einlass answered with an error."
    data = error["data"]?.object ?? JSONObject()
  }

  /// What programs switch on.
  var reason: String { data["reason"]?.string ?? "internal" }

  /// As it came.
  var json: JSONValue {
    ["code": JSONValue(code), "message": .string(message), "data": .object(data)]
  }
}
