internal import EinlassCrypto

/// The lines of the audit trail: closures that `EinlassStorage` fills, from a file beside the store
/// or from memory. The server defines the format of a line; it must not contain a line feed.
public struct AuditLines: Sendable {
  /// The start of a line, as text for a cursor.
  public typealias Position = String

  /// Consecutive lines.
  public struct Part: Sendable, Equatable {
    /// Oldest first.
    public var lines: [Line]
    /// Whether older lines exist.
    public var hasMore: Bool

    public init(lines: [Line], hasMore: Bool) {
      self.lines = lines
      self.hasMore = hasMore
    }
  }

  /// A line and its position.
  public struct Line: Sendable, Equatable {
    public var position: Position
    public var bytes: [UInt8]

    public init(position: Position, bytes: [UInt8]) {
      self.position = position
      self.bytes = bytes
    }
  }

  /// Appends a line. The line survives a crash of the process once this returns.
  public var append: @Sendable ([UInt8], AccountStore.Patience) throws(Problem) -> Void
  /// Whether a line can be appended now without waiting for another process or thread.
  public var isFree: @Sendable () -> Bool
  /// Returns the last lines before this position, or of the whole trail, in parts of bounded cost;
  /// `nil` for an invalid position.
  public var part: @Sendable (_ before: Position?, AccountStore.Patience) throws(Problem) -> Part?
  /// Removes the lines for which the closure returns `true`. Returns their number.
  public var remove:
    @Sendable (AccountStore.Patience, _ shouldRemove: ([UInt8]) -> Bool) throws(Problem) -> Int
  /// Called at the end of the process, for lines that wait to be sent elsewhere.
  public var finish: @Sendable () -> Void
  /// Returns the problem that keeps lines from being sent elsewhere.
  public var sendingProblem: @Sendable () -> Problem?

  public init(
    append: @escaping @Sendable ([UInt8], AccountStore.Patience) throws(Problem) -> Void,
    isFree: @escaping @Sendable () -> Bool,
    part: @escaping @Sendable (Position?, AccountStore.Patience) throws(Problem) -> Part?,
    remove: @escaping @Sendable (AccountStore.Patience, ([UInt8]) -> Bool) throws(Problem) -> Int,
    finish: @escaping @Sendable () -> Void = {},
    sendingProblem: @escaping @Sendable () -> Problem? = { nil }
  ) {
    self.finish = finish
    self.sendingProblem = sendingProblem
    self.append = append
    self.isFree = isFree
    self.part = part
    self.remove = remove
  }
}

extension Credential {
  /// Returns the token's name for the audit trail: a keyed digest of 128 bits, which does not
  /// reveal the token.
  public func tokenDigest(key: Secret) -> String {
    let token =
      switch self {
      case .oauth1(let credential): credential.token
      case .oauth2(let credential): credential.accessToken
      case .session(let session): session.id.isEmpty ? session.cookies ?? session.id : session.id
      }
    let code = MessageAuthentication.hmacSHA256(
      key: revealedBytes(key), message: revealedBytes(token))
    return Base64URL.encode(Array(code.prefix(16)))
  }
}
