internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl store unlock`.
struct StoreUnlock: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Let git and other programs open it for a while.",
    discussion: """
      For a store that needs a passphrase. The kernel keeps the key of the passphrase for all programs that run as you, until \
      the time is over, the machine restarts, or einlassctl store lock.

      EXAMPLE: einlassctl store unlock --for 8h
      """)

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("How long, from 1m to 24h.", valueName: "duration"))
  var duration = "8h"

  @OptionGroup var server: ServerOptions

  func validate() throws {
    guard seconds != nil else {
      throw ValidationError("--for needs a time from 1m to 24h, such as 45m or 8h.")
    }
  }

  func run(with console: Console) throws(Failure) {
    let result = try console.call("store.unlock", ["seconds": JSONValue(seconds ?? 0)])
    try console.report(
      .object(result),
      [
        "Unlocked until \(timestamp(result["unlockedUntil"]?.int64 ?? 0)). To end it earlier: einlassctl store lock"
      ])
  }

  /// The seconds of a whole number of minutes or hours; `nil` for another text or time.
  private var seconds: Int64? {
    let units: [Character: Int64] = ["m": 60, "h": 3600]
    guard let unit = duration.last.flatMap({ units[$0] }), let count = Int64(duration.dropLast()),
      (1...86_400 / unit).contains(count)
    else { return nil }
    return count * unit
  }
}

/// `einlassctl store lock`.
struct StoreLock: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Take unlock back.",
    discussion: "A program that runs keeps the key until it ends.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let result = try console.call("store.lock")
    try console.report(
      .object(result),
      [result["wasUnlocked"]?.bool == true ? "Locked." : "The store was not unlocked."])
  }
}

/// The programs that need no person, and therefore a key slot without one.
enum Unattended {
  static let names = "git, docker, kubectl, einlassctl token and other programs without a person"
  static let step = NextStep("To let them in for a while:", "store", "unlock", "--for", "8h")

  /// Whether such a program opens a store with these key slots.
  static func open(_ slots: [String]) -> Bool {
    slots.contains { !["passphrase", "fd"].contains($0) }
  }
}
