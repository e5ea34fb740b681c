internal import Einlass
internal import EinlassJSON
internal import EinlassServer

/// The options of a door: `--as NAME --only METHOD,… --account ID,… [--until TIME]`.
struct DoorOptions: Equatable {
  /// The application; `nil` without a door.
  var application: String?
  var methods: [String] = []
  var accounts: [String] = []
  /// In Unix seconds; `nil` for the end of the process.
  var end: Int64?

  /// Takes one of the options, which may be repeated except `--as` and `--until`.
  mutating func take(_ name: String, _ value: String) throws(Options.UsageError) {
    let names = value.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    switch name {
    case "--as":
      guard application == nil, isIdentifier(value) else {
        throw .init("--as needs one name, for example: --as agent")
      }
      application = value
    case "--only":
      guard names.allSatisfy(Door.methods.contains) else {
        throw .init("--only takes \(Door.methods.joined(separator: ", "))")
      }
      methods += names
    case "--account":
      guard names.allSatisfy(isIdentifier) else {
        throw .init("--account needs ids, as einlassctl accounts --json prints them")
      }
      accounts += names
    default:
      guard end == nil, let seconds = seconds(of: value) ?? Int64(value), seconds > 0 else {
        throw .init("--until needs one time, for example: --until 2026-11-29T18:00:00Z")
      }
      end = seconds
    }
  }
}

extension Options {
  /// Throws for a door that lacks an option, and for options that would give its front end more.
  func requireSoundDoor() throws(UsageError) {
    guard door.application != nil else {
      guard door == DoorOptions() else {
        throw UsageError("--only, --account and --until need --as")
      }
      return
    }
    guard !door.methods.isEmpty, !door.accounts.isEmpty else {
      throw UsageError("--as needs --only and --account")
    }
    var others: [String] = []
    if answers != nil { others.append("--answers") }
    if trace != nil { others.append("--trace") }
    if isTest { others.append("--test") }
    switch action {
    case .call(_, _, let application): if application != nil { others.append("call --application") }
    case .dumpProtocol: others.append("--dump-protocol")
    case .dumpSchema: others.append("--dump-schema")
    case .serve, .help, .version: break
    }
    guard others.isEmpty else {
      throw UsageError("--as excludes \(others.joined(separator: ", "))")
    }
  }
}
