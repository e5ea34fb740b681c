/// How long a transfer may take and how much of an answer's head is taken; the body's limit is the request's.
public struct TransferLimits: Sendable, Equatable {
  /// Name look-up, connection and TLS together.
  public var connect: Duration = .seconds(10)
  /// From the first step to the last byte; a request may ask for less.
  public var total: Duration = .seconds(20)
  /// A transfer slower than `slowBytesPerSecond` for so long is given up, silence included.
  public var slow: Duration = .seconds(10)
  public var slowBytesPerSecond = 100
  /// All header lines together, interim answers included.
  public var headerBytes = 64 << 10
  public var headerLines = 200
  /// How long an idle connection is kept for the next request, and the thread with it.
  public var idle: Duration = .seconds(60)

  public init() {}
}

extension Duration {
  /// Rounded up, so that a positive duration never becomes zero, which libcurl reads as "no limit".
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Rounded up, for the options that count in seconds.
  var wholeSeconds: Int { (wholeMilliseconds + 999) / 1000 }
}
