/// The limits of a transfer's time and of a response's head. Each request has its own limit for the
/// body.
public struct TransferLimits: Sendable, Equatable {
  /// The time for name look-up, connection and TLS together.
  public var connect: Duration = .seconds(10)
  /// The time from the first step to the last byte. A request may set a lower limit.
  public var total: Duration = .seconds(20)
  /// A transfer slower than `slowBytesPerSecond` for this time is aborted, even if no bytes arrive
  /// at all.
  public var slow: Duration = .seconds(10)
  public var slowBytesPerSecond = 100
  /// The size of all header lines together, including interim responses and trailers.
  public var headerBytes = 64 << 10
  public var headerLines = 200
  /// The time to keep an idle connection and the thread for the next request.
  public var idle: Duration = .seconds(60)

  public init() {}
}

extension Duration {
  /// Rounded up, because libcurl reads zero as "no limit".
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Rounded up, for options in seconds.
  var wholeSeconds: Int { (wholeMilliseconds + 999) / 1000 }
}
