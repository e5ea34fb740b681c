internal import EinlassJSON
internal import EinlassSystem

/// The lifetime of an account's tokens, if it is shorter than a command asked for, in a file that the
/// next commands read. Else each of them would ask the provider for a new token, in vain.
struct ShortLifetime {
  /// Seconds.
  let lifetime: Int64

  /// Reads the lifetime of the account's tokens; `nil` unless a token of this time was too short.
  init?(of target: TokenTarget) {
    guard let path = Self.path(target), FileStatus.at(path) != nil,
      let bytes = try? PersonalFile.read(path, others: .mayNothing, limitBytes: 1 << 10),
      let json = try? JSONReader.read(bytes), let lifetime = json["lifetime"]?.int64,
      lifetime > 0, let until = json["until"]?.int64,
      (1...Self.milliseconds(lifetime)).contains(
        Int(Deadline(monotonicMilliseconds: until).millisecondsLeft))
    else { return nil }
    self.lifetime = lifetime
  }

  /// Remembers a lifetime in seconds for as long.
  static func note(_ lifetime: Int64, of target: TokenTarget) {
    guard let path = path(target) else { return }
    let until = Deadline(milliseconds: milliseconds(lifetime)).monotonicMilliseconds
    let json: JSONValue = ["until": JSONValue(until), "lifetime": JSONValue(lifetime)]
    // Without the file the next command only asks the provider again.
    try? PersonalFile.replace(path, Array(json.text.utf8)) { _ in }
  }

  /// A day at most.
  private static func milliseconds(_ lifetime: Int64) -> Int {
    Int(max(0, min(lifetime, 86_400))) * 1000
  }

  /// `lifetime-ACCOUNT.json` beside the keys; `nil` without a home folder, for a resource, and for an
  /// id that is no name of a file.
  private static func path(_ target: TokenTarget) -> String? {
    let home = Environment.value("HOME").map { "\($0)/.local/state" }
    let isName = target.account.utf8.allSatisfy {
      isASCIILetterOrDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
    }
    guard let folder = Environment.value("XDG_STATE_HOME") ?? home, folder.hasPrefix("/"),
      isName, target.resource == nil
    else { return nil }
    return "\(folder)/einlass/lifetime-\(target.account).json"
  }
}

private func isASCIILetterOrDigit(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"):
    true
  default: false
  }
}
