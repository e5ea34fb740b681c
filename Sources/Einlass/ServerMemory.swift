internal import EinlassJSON

/// The knowledge about servers that a process keeps until it ends, because the store is for lasting
/// data. Holds no secrets.
public struct ServerMemory: Sendable {
  /// Key sets by address.
  public var keySets: Notebook<KeptKeySet>
  /// The clock offset of servers by origin: seconds that the server's clock is ahead of this
  /// machine's.
  public var clockOffsets: Notebook<Int64>
  /// The nonce for the next proof of possession, by origin. RFC 9449 section 8.
  public var proofNonces: Notebook<String>
  /// The assertions that a server does not accept again, by a digest of the server and of the
  /// assertion's id or text: `true` for one that has served once, `false` for a refused one.
  public var spentAssertions: Notebook<Bool>
  /// The audience of a client assertion that an endpoint has accepted, by its address.
  public var assertionAudiences: Notebook<String>
  /// The times of the checks that a provider demands of its tokens, by a digest of the token.
  public var tokenChecks: Notebook<UnixTime>

  public init(
    keySets: Notebook<KeptKeySet>, clockOffsets: Notebook<Int64>, proofNonces: Notebook<String>,
    spentAssertions: Notebook<Bool>, assertionAudiences: Notebook<String>,
    tokenChecks: Notebook<UnixTime>
  ) {
    self.keySets = keySets
    self.clockOffsets = clockOffsets
    self.proofNonces = proofNonces
    self.spentAssertions = spentAssertions
    self.assertionAudiences = assertionAudiences
    self.tokenChecks = tokenChecks
  }

  /// Remembers nothing.
  public static let none = ServerMemory(
    keySets: .none, clockOffsets: .none, proofNonces: .none, spentAssertions: .none,
    assertionAudiences: .none, tokenChecks: .none)
}

/// Values by key: closures, filled by an object that outlives a request.
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

  /// Always empty.
  public static var none: Notebook { Notebook(read: { _ in nil }, write: { _, _ in }) }
}

extension Effects {
  /// The largest clock offset that is compensated. A larger one is reported as an error.
  static let clockOffsetLimitSeconds: Int64 = 600

  /// Returns the time by a server's own clock, if its offset is known and at most
  /// `clockOffsetLimitSeconds`; else by this machine's clock.
  func now(at address: WebAddress) -> UnixTime {
    let offset = memory.clockOffsets.read(address.origin) ?? 0
    return now() + (abs(offset) <= Self.clockOffsetLimitSeconds ? offset : 0)
  }

  /// Records a server's clock offset from the `Date` of its response, unless the response came from
  /// a cache (`Age`). RFC 9110 section 6.6.1, RFC 9111 section 5.1.
  func noteClock(of response: HTTPResponse, from address: WebAddress) {
    guard response.header("age") == nil,
      let date = response.header("date").flatMap(RetryAfter.httpDate)
    else { return }
    memory.clockOffsets.write(address.origin, date - now())
  }

  /// Returns the error of this machine's clock compared with the server's, such as `3 hours
  /// behind`; `nil` for an offset that is compensated.
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
