public import EinlassSystem

/// The log on stderr: lines of `time level area message`, never a secret.
///
/// It never waits and never grows: a line that stderr does not take at once is dropped and counted,
/// and the next one that it takes is preceded by how many were. That nobody reads stderr any more
/// is no error.
public struct Log: Sendable {
  /// The level of a line.
  public enum Level: String, Sendable, CaseIterable {
    case error, warning, info, debug
  }

  private struct Sink: ~Copyable {
    let descriptor: Descriptor
    var droppedCount = 0
  }

  private let sink: Lock<Sink>?
  private let level: Level
  private let now: @Sendable () -> Int64

  /// A log without output.
  public static let silent = Log()

  private init() {
    sink = nil
    level = .error
    now = { 0 }
  }

  /// Makes a log of lines up to this level. `now` returns Unix seconds.
  public init(
    _ level: Level, to descriptor: consuming Descriptor, now: @escaping @Sendable () -> Int64
  ) {
    self.level = level
    self.now = now
    self.sink = Lock(Sink(descriptor: descriptor))
  }

  /// A defect of einlass that ends the process or a request.
  public func error(_ area: StaticString, _ message: @autoclosure () -> String) {
    write(.error, area, message)
  }

  /// A condition that a person should correct.
  public func warning(_ area: StaticString, _ message: @autoclosure () -> String) {
    write(.warning, area, message)
  }

  /// A step of the process's life.
  public func info(_ area: StaticString, _ message: @autoclosure () -> String) {
    write(.info, area, message)
  }

  /// Details for the development of a front end.
  public func debug(_ area: StaticString, _ message: @autoclosure () -> String) {
    write(.debug, area, message)
  }

  /// A line of this level.
  func write(_ level: Level, _ area: StaticString, _ message: () -> String) {
    guard let sink, level.rank <= self.level.rank else { return }
    let text = "\(now()) \(level.rawValue) \(area) \(singleLine(message()))\n"
    sink.withLock { sink in
      var lines = Array(text.utf8)
      if sink.droppedCount > 0 {
        lines = Array("\(now()) warning log \(sink.droppedCount) lines were lost\n".utf8) + lines
      }
      switch sink.descriptor.writeWithoutWaiting(lines, 0..<lines.count) {
      case .bytes: sink.droppedCount = 0
      case .wouldWait: sink.droppedCount += 1
      case .end, .failed: break
      }
    }
  }

  /// Returns the message without line ends and terminal control characters, cut to 900 characters.
  private func singleLine(_ message: String) -> String {
    var text = ""
    for scalar in message.unicodeScalars.prefix(900) {
      switch scalar.value {
      case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: text.append(" ")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension Log.Level {
  fileprivate var rank: Int {
    switch self {
    case .error: 0
    case .warning: 1
    case .info: 2
    case .debug: 3
    }
  }
}
