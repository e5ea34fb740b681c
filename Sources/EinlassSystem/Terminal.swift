internal import CSystem
internal import Glibc

/// The controlling terminal of this process, independent of its standard streams.
public struct Terminal: ~Copyable {
  private let descriptor: Descriptor
  /// The mode before `hush`.
  private var usual: termios?

  /// Opens the terminal, or returns `nil` if there is none.
  public static func open() -> Terminal? {
    let number = unsafe Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    return number < 0 ? nil : Terminal(descriptor: Descriptor(owning: number))
  }

  private init(descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// Whether this process belongs to the terminal's foreground process group. The kernel stops a
  /// background process that reads from its terminal.
  public var isInForeground: Bool { tcgetpgrp(descriptor.number) == getpgrp() }

  /// Returns whether this standard stream is a terminal.
  public static func isTerminal(_ number: Int32) -> Bool { isatty(number) == 1 }

  /// Returns the size of the terminal behind this descriptor, or `nil` if it is not a terminal or
  /// its size is unknown.
  public static func size(of number: Int32) -> (columns: Int, rows: Int)? {
    var rows: Int32 = 0
    let columns = unsafe csystem_terminal_columns(number, &rows)
    return columns > 0 && rows > 0 ? (Int(columns), Int(rows)) : nil
  }

  /// The number to poll.
  public var number: Int32 { descriptor.number }

  /// Reads typed bytes. Returns `nil` if the terminal is gone.
  public borrowing func read(limitBytes: Int = 1024) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: limitBytes)
    guard case .bytes(let count) = descriptor.read(into: &bytes) else { return nil }
    return Array(bytes[..<count])
  }

  /// Writes text to the terminal. Errors are ignored.
  public borrowing func write(_ text: String) { try? descriptor.writeAll(Array(text.utf8)) }

  /// Turns off the echo of typed text until this value is destroyed. It stays off between prompts
  /// too, because text typed ahead may be a secret.
  public mutating func hush() {
    var mode = termios()
    guard usual == nil, unsafe tcgetattr(number, &mode) == 0 else { return }
    usual = mode
    mode.c_lflag &= ~tcflag_t(ECHO)
    _ = unsafe tcsetattr(number, TCSADRAIN, &mode)
  }

  deinit {
    // A background process would be stopped by SIGTTOU.
    guard var usual, tcgetpgrp(number) == getpgrp() else { return }
    _ = unsafe tcsetattr(number, TCSADRAIN, &usual)
  }

  /// Delivers each key as it is pressed while the body runs, without echo and without signals from
  /// keys.
  public borrowing func withKeys<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var before = termios()
    guard unsafe tcgetattr(number, &before) == 0 else { return try body() }
    var keys = before
    keys.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    keys.c_iflag &= ~tcflag_t(IXON)
    // VTIME and VMIN: a read returns as soon as there is a byte.
    keys.c_cc.5 = 0
    keys.c_cc.6 = 1
    _ = unsafe tcsetattr(number, TCSADRAIN, &keys)
    defer { _ = unsafe tcsetattr(number, TCSADRAIN, &before) }
    return try body()
  }
}
