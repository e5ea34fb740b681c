package import EinlassJSON
package import EinlassSystem

/// The reason for an exit code other than 0.
package enum Failure: Error {
  /// einlass answered with an error.
  case refused(Refusal)
  /// A value that the person gave cannot be used: a sentence, and the next step.
  case unusable(String, NextStep? = nil)
  /// The command line is incomplete or wrong, which the parser alone could not detect.
  case usage(String)
  /// The person pressed Ctrl-C or said no.
  case cancelled
  /// einlass did not start or ended before it answered. `code` is its exit code, if known.
  case noServer(String, code: Int32? = nil)
  /// Standard output is closed or its reader is gone.
  case outputLost
  /// The command ran and printed its result, and the result reports a problem.
  case badNews
  /// The checked token is not valid, as the printed result says.
  case notValid

  /// The system lacks something that einlass needs at its start.
  package static func notStarted(_ error: SystemError) -> Failure {
    .noServer("einlass can't be started: \(error.explanation).")
  }

  /// A file of the person cannot be used.
  package static func unusableFile(_ path: String, _ error: FileError) -> Failure {
    let sentence = "\(path) \(error.explanation)"
    if let command = error.command {
      var step = NextStep("If nobody else had access, run this and start the command again:")
      step.foreign = command
      return .unusable(sentence, step)
    }
    if case .system = error.cause { return .unusable(sentence) }
    return .unusable(sentence, NextStep("Correct that, or name another place."))
  }

  /// Exit code for faults of this program or of the machine (EX_SOFTWARE of sysexits.h).
  package static let internalCode: Int32 = 70
  /// Exit code for a wrong command line (EX_USAGE of sysexits.h).
  package static let usageCode: Int32 = 64
  /// Exit code for a machine that is set up in a way that cannot serve (EX_CONFIG of sysexits.h).
  package static let configurationCode: Int32 = 78

  /// The exit code of the process.
  package var exitCode: Int32 {
    switch self {
    case .refused, .unusable, .cancelled, .outputLost, .badNews: 1
    case .notValid: 2
    case .usage: Self.usageCode
    case .noServer(_, code: Self.usageCode): Self.usageCode
    case .noServer: Self.internalCode
    }
  }

  /// The error object for `--json`, in the shape of einlass's errors. `nil` for `badNews` and
  /// `notValid`, because the result is already printed, and for `outputLost`.
  package var json: JSONValue? {
    switch self {
    case .refused(let refusal): refusal.json
    case .unusable(let sentence, _): Self.json("unusable", sentence)
    case .usage(let sentence): Self.json("usage", sentence)
    case .noServer(let sentence, _): Self.json("noServer", sentence)
    case .cancelled: Self.json("cancelled", "Cancelled.")
    case .outputLost, .badNews, .notValid: nil
    }
  }

  private static func json(_ reason: String, _ sentence: String) -> JSONValue {
    ["message": .string(sentence), "data": ["reason": .string(reason)]]
  }

  /// Returns the failure with this application as the refused one.
  package func asked(by application: String?) -> Failure {
    guard case .refused(var refusal) = self, let application else { return self }
    refusal.application = application
    return .refused(refusal)
  }
}

/// An error answered by einlass (protocol/methods.md, "Errors").
package struct Refusal {
  package var code: Int64
  package var message: String
  package var data: JSONObject
  /// The name of the refused application.
  package var application = "einlassctl"
  /// The account's name as the command shows it; `nil` if the command knows only the id.
  package var account: String?
  /// A next step of the command, in place of the one derived from the error.
  package var ownStep: NextStep?

  /// Reads the error object of an answer.
  package init(_ error: JSONValue) {
    code = error["code"]?.int64 ?? 0
    message = error["message"]?.string ?? "einlass answered with an error."
    data = error["data"]?.object ?? JSONObject()
  }

  /// The machine-readable reason; `internal` if the error has none.
  package var reason: String { data["reason"]?.string ?? "internal" }

  /// The error object for `--json`.
  package var json: JSONValue {
    ["code": JSONValue(code), "message": .string(message), "data": .object(data)]
  }
}
