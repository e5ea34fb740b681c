internal import CSystem
internal import Glibc

/// The terminal that this process was started from, whatever its standard streams are.
public struct Terminal: ~Copyable {
  private let descriptor: Descriptor
  /// As it was before `hush`.
  private var usual: termios?

  /// `nil` when there is none.
  public static func open() -> Terminal? {
    let number = unsafe Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    return number < 0 ? nil : Terminal(descriptor: Descriptor(owning: number))
  }

  private init(descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// Whether this standard stream is a terminal.
  public static func isTerminal(_ number: Int32) -> Bool { isatty(number) == 1 }

  /// How many columns and rows the terminal behind this descriptor has; `nil` when it is none or does not say.
  public static func size(of number: Int32) -> (columns: Int, rows: Int)? {
    var rows: Int32 = 0
    let columns = unsafe csystem_terminal_columns(number, &rows)
    return columns > 0 && rows > 0 ? (Int(columns), Int(rows)) : nil
  }

  /// For polling.
  public var number: Int32 { descriptor.number }

  /// What was typed, at most so many bytes; `nil` when the terminal is gone.
  public borrowing func read(limitBytes: Int = 1024) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: limitBytes)
    guard case .bytes(let count) = descriptor.read(into: &bytes) else { return nil }
    return Array(bytes[..<count])
  }

  /// Shows the text.
  public borrowing func write(_ text: String) { try? descriptor.writeAll(Array(text.utf8)) }

  /// Shows nothing that is typed from now on, between questions neither: who types ahead may be typing a secret.
  /// Ends with this value.
  public mutating func hush() {
    var mode = termios()
    guard usual == nil, unsafe tcgetattr(number, &mode) == 0 else { return }
    usual = mode
    mode.c_lflag &= ~tcflag_t(ECHO)
    _ = unsafe tcsetattr(number, TCSADRAIN, &mode)
  }

  deinit {
    // Whoever is no longer in the foreground would be stopped for it.
    guard var usual, tcgetpgrp(number) == getpgrp() else { return }
    _ = unsafe tcsetattr(number, TCSADRAIN, &usual)
  }

  /// Gives every key as it is pressed, shows none and lets none end the process, for as long as the body runs.
  public borrowing func withKeys<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var before = termios()
    guard unsafe tcgetattr(number, &before) == 0 else { return try body() }
    var keys = before
    keys.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    keys.c_iflag &= ~tcflag_t(IXON)
    // VTIME and VMIN: a read answers as soon as there is a byte.
    keys.c_cc.5 = 0
    keys.c_cc.6 = 1
    _ = unsafe tcsetattr(number, TCSADRAIN, &keys)
    defer { _ = unsafe tcsetattr(number, TCSADRAIN, &before) }
    return try body()
  }
}
