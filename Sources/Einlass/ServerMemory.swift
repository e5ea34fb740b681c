internal import EinlassJSON

/// What a process remembers of the servers it asks, for as long as it lives: no secrets.
public struct ServerMemory: Sendable {
  /// By the addresses of key sets (C-74).
  public var keySets: Notebook<KeptKeySet>
  /// By origins: how many seconds the server's clock is ahead of this machine's (C-62).
  public var clockOffsets: Notebook<Int64>
  /// By origins: what the next proof of possession has to hold. RFC 9449 section 8.
  public var proofNonces: Notebook<String>

  public init(
    keySets: Notebook<KeptKeySet>, clockOffsets: Notebook<Int64>, proofNonces: Notebook<String>
  ) {
    self.keySets = keySets
    self.clockOffsets = clockOffsets
    self.proofNonces = proofNonces
  }

  /// Nothing is remembered.
  public static let none = ServerMemory(keySets: .none, clockOffsets: .none, proofNonces: .none)
}

/// Values by text: closures, filled by whoever lives longer than a request.
public struct Notebook<Value: Sendable>: Sendable {
  public var read: @Sendable (String) -> Value?
  public var write: @Sendable (String, Value) -> Void

  public init(
    read: @escaping @Sendable (String) -> Value?,
    write: @escaping @Sendable (String, Value) -> Void
  ) {
    self.read = read
    self.write = write
  }

  /// One that is always empty.
  public static var none: Notebook { Notebook(read: { _ in nil }, write: { _, _ in }) }
}

extension Effects {
  /// By how much a clock is believed to be wrong at most (C-62).
  static let clockOffsetLimitSeconds: Int64 = 600

  /// The time by a server's own clock, as far as that is known and not absurd.
  func now(at address: WebAddress) -> UnixTime {
    let offset = memory.clockOffsets.read(address.origin) ?? 0
    return now() + (abs(offset) <= Self.clockOffsetLimitSeconds ? offset : 0)
  }

  /// Learns a server's clock from its answer, unless that was kept somewhere on the way. RFC 9110 section 6.6.1, RFC 9111
  /// section 5.1.
  func noteClock(of response: HTTPResponse, from address: WebAddress) {
    guard response.header("age") == nil,
      let date = response.header("date").flatMap(RetryAfter.httpDate)
    else { return }
    memory.clockOffsets.write(address.origin, date - now())
  }

  /// How wrong this machine's clock is by a server's, where that is more than is made up for: `3 hours behind`.
  func clockError(at address: WebAddress) -> String? {
    guard let offset = memory.clockOffsets.read(address.origin),
      abs(offset) > Self.clockOffsetLimitSeconds
    else { return nil }
    let (size, unit) =
      switch abs(offset) {
      case ..<7200: (abs(offset) / 60, "minutes")
      case ..<172_800: (abs(offset) / 3600, "hours")
      default: (abs(offset) / 86_400, "days")
      }
    return "\(size) \(unit) \(offset > 0 ? "behind" : "ahead of")"
  }
}
