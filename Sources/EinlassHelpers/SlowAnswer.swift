internal import EinlassJSON
internal import EinlassSystem

/// The last failure of a helper that took seconds, in a file that the next helpers read.
///
/// docker, kubectl, uv and others run their helper up to four times for one command. If each run
/// waited as long as the first one, the command would seem to hang.
package struct SlowAnswer {
  /// The time limit of a helper, in milliseconds. The programs wait ten seconds at most.
  package static let usualLimit = 5_500
  /// The time limit while a failure is remembered.
  package static let shortLimit = 1_200
  private static let memoryMilliseconds = 20_000
  /// A failure that took longer is remembered.
  private static let slowMilliseconds = 1_500

  /// The line of the remembered failure; `nil` if there is none.
  package let line: String?

  /// The limit for this helper.
  package var limit: Int { line == nil ? Self.usualLimit : Self.shortLimit }

  /// Reads the file, if a helper needs it.
  package init(isNeeded: Bool) {
    guard isNeeded, let path = Self.path, FileStatus.at(path) != nil,
      let bytes = try? PersonalFile.read(path, others: .mayNothing, limitBytes: 1 << 14),
      let json = try? JSONReader.read(bytes), let until = json["until"]?.int64,
      (1...Int32(Self.memoryMilliseconds)).contains(
        Deadline(monotonicMilliseconds: until).millisecondsLeft)
    else {
      line = nil
      return
    }
    line = json["line"]?.string
  }

  /// Remembers a line, if the failure took long.
  package static func note(_ line: String, after milliseconds: Int) {
    guard milliseconds > slowMilliseconds, let path else { return }
    let until = Deadline(milliseconds: memoryMilliseconds).monotonicMilliseconds
    let json: JSONValue = ["until": JSONValue(until), "line": .string(line)]
    // Without the file the next helper only waits longer.
    try? PersonalFile.replace(path, Array(json.text.utf8)) { _ in }
  }

  /// `slow-answer.json` beside the keys; `nil` without a home folder.
  private static var path: String? {
    let home = Environment.value("HOME").map { "\($0)/.local/state" }
    guard let folder = Environment.value("XDG_STATE_HOME") ?? home, folder.hasPrefix("/") else {
      return nil
    }
    return "\(folder)/einlass/slow-answer.json"
  }
}
