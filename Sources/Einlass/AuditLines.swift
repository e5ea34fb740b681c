internal import EinlassCrypto

/// The lines of the audit trail as the server sees them: closures that `EinlassStorage` fills, from a file beside
/// the store or from memory. What stands in a line is the server's business; it holds no line feed.
public struct AuditLines: Sendable {
  /// Where a line begins, as text for a cursor.
  public typealias Position = String

  /// Some lines in a row.
  public struct Part: Sendable, Equatable {
    /// Oldest first.
    public var lines: [Line]
    /// Whether there are lines before the first of these.
    public var hasMore: Bool

    public init(lines: [Line], hasMore: Bool) {
      self.lines = lines
      self.hasMore = hasMore
    }
  }

  /// A line and its place.
  public struct Line: Sendable, Equatable {
    public var position: Position
    public var bytes: [UInt8]

    public init(position: Position, bytes: [UInt8]) {
      self.position = position
      self.bytes = bytes
    }
  }

  /// Adds a line that the system has when this returns, however the process ends then.
  public var append: @Sendable ([UInt8], AccountStore.Patience) throws(Problem) -> Void
  /// The last lines before that position, or of all, in parts that cost little; `nil` when the position is none.
  public var part: @Sendable (_ before: Position?, AccountStore.Patience) throws(Problem) -> Part?
  /// Takes out the lines that the closure says, and answers how many.
  public var remove:
    @Sendable (AccountStore.Patience, _ isToGo: ([UInt8]) -> Bool) throws(Problem) -> Int

  public init(
    append: @escaping @Sendable ([UInt8], AccountStore.Patience) throws(Problem) -> Void,
    part: @escaping @Sendable (Position?, AccountStore.Patience) throws(Problem) -> Part?,
    remove: @escaping @Sendable (AccountStore.Patience, ([UInt8]) -> Bool) throws(Problem) -> Int
  ) {
    self.append = append
    self.part = part
    self.remove = remove
  }
}

extension Credential {
  /// Names its token in the audit trail and tells nothing of it: a keyed digest, of 128 bits (C-123).
  public func tokenDigest(key: Secret) -> String {
    let token =
      switch self {
      case .oauth1(let credential): credential.token
      case .oauth2(let credential): credential.accessToken
      }
    let code = MessageAuthentication.hmacSHA256(
      key: revealedBytes(key), message: revealedBytes(token))
    return Base64URL.encode(Array(code.prefix(16)))
  }
}
