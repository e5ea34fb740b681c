/// The last settings of an application's login at a server of the person's own. No part is a secret.
public struct ServerSettings: Sendable, Equatable {
  /// The host or the address, as the sign-in named it.
  public var server: String
  /// `nil` for the port in the name, or the descriptor's.
  public var port: UInt16?
  /// `nil` for the scheme in the name, or https.
  public var isSecure: Bool?
  public var usesCookies: Bool
  public var acceptsUntrustedCertificates: Bool
  public var username: String?

  public init(
    server: String, port: UInt16? = nil, isSecure: Bool? = nil, usesCookies: Bool = false,
    acceptsUntrustedCertificates: Bool = false, username: String? = nil
  ) {
    self.server = server
    self.port = port
    self.isSecure = isSecure
    self.usesCookies = usesCookies
    self.acceptsUntrustedCertificates = acceptsUntrustedCertificates
    self.username = username
  }
}

/// The records about servers of the person's own, as a part of `AccountStore` with the same rules:
/// the refused logins of all processes, and the last settings of each application.
public struct OwnServerStore: Sendable {
  /// A person at a server.
  public struct Login: Sendable, Hashable {
    /// The origin: `https://pbx.example.com:8443`.
    public var server: String
    public var username: String

    public init(server: String, username: String) {
      self.server = server
      self.username = username
    }
  }

  /// The refusals of a login since its last success.
  public struct Refusals: Sendable, Equatable {
    public var count: Int64
    public var lastAt: UnixTime

    public init(count: Int64, lastAt: UnixTime) {
      self.count = count
      self.lastAt = lastAt
    }
  }

  /// The age of a refusal that is removed when another one is written.
  public static let keptSeconds: Int64 = 86_400

  /// Returns the refusals of a login; `nil` if there are none.
  public var refusals: @Sendable (Login) throws(Problem) -> Refusals?
  /// Returns whether the last refusal was of this password and at this time or later.
  public var isRefused: @Sendable (Login, Secret, _ since: UnixTime) throws(Problem) -> Bool
  /// Counts a refusal of this password at this time. Keeps a keyed digest of the password, and
  /// removes the refusals of all logins that are older than `keptSeconds`.
  public var noteRefusal: @Sendable (Login, Secret, UnixTime) throws(Problem) -> Void
  /// Removes the refusals of a login.
  public var forgetRefusals: @Sendable (Login) throws(Problem) -> Void
  /// Returns an application's last settings at a provider.
  public var settings:
    @Sendable (_ application: String, _ provider: String, AccountStore.Patience) throws(Problem) ->
      ServerSettings?
  public var setSettings:
    @Sendable (ServerSettings, _ application: String, _ provider: String) throws(Problem) -> Void

  public init(
    refusals: @escaping @Sendable (Login) throws(Problem) -> Refusals?,
    isRefused: @escaping @Sendable (Login, Secret, UnixTime) throws(Problem) -> Bool,
    noteRefusal: @escaping @Sendable (Login, Secret, UnixTime) throws(Problem) -> Void,
    forgetRefusals: @escaping @Sendable (Login) throws(Problem) -> Void,
    settings:
      @escaping @Sendable (String, String, AccountStore.Patience) throws(Problem) ->
      ServerSettings?,
    setSettings: @escaping @Sendable (ServerSettings, String, String) throws(Problem) -> Void
  ) {
    self.refusals = refusals
    self.isRefused = isRefused
    self.noteRefusal = noteRefusal
    self.forgetRefusals = forgetRefusals
    self.settings = settings
    self.setSettings = setSettings
  }

  /// A store that throws this problem at every use.
  public init(failing problem: Problem) {
    self.init(
      refusals: { _ throws(Problem) in throw problem },
      isRefused: { _, _, _ throws(Problem) in throw problem },
      noteRefusal: { _, _, _ throws(Problem) in throw problem },
      forgetRefusals: { _ throws(Problem) in throw problem },
      settings: { _, _, _ throws(Problem) in throw problem },
      setSettings: { _, _, _ throws(Problem) in throw problem })
  }
}
