internal import EinlassCrypto

/// A question to the person. `EinlassServer/Requests/Prompts.swift` writes it to the wire.
public enum Prompt: Sendable, Equatable {
  /// Whether this application may use the provider's accounts. `added`: the permissions beyond an
  /// existing grant; `includes`: the application's further rights.
  case grantAccess(
    permissions: [String], audience: AccessGrant.Audience?, added: [String],
    includes: [AccessGrant.Inclusion])
  /// A choice among at most 100 accounts, last used first. `more`: any other account of the
  /// provider is a valid answer too.
  case selectAccount([Account], more: Bool)
  /// A confirmation of this account.
  case confirmAccount(Account)
  /// The choice of the account that gets the credential of a finished sign-in, asked if the
  /// provider does not identify the person. At most 100 accounts, last used first; `more`: any
  /// other account of the provider is a valid answer too. Accepting without an account adds a new
  /// one.
  case replaceAccount([Account], more: Bool)
  /// The address to open in the person's browser. `returningTo`: the redirect address that only the
  /// front end can catch and hands in with its answer; `nil` if einlass listens itself.
  case openURL(WebAddress, returningTo: String?)
  /// A user code to enter on the provider's page, on any device, until it expires. `wholePage`: the
  /// page's address with the code in it.
  case deviceCode(
    WebAddress, wholePage: WebAddress?, userCode: String, expiresAt: UnixTime)
  /// A request for a text from the browser. `isAgain`: the previous answer was not usable;
  /// `returningTo`: as with `openURL`.
  case enterVerifier(Verifier, isAgain: Bool = false, returningTo: String? = nil)

  /// The kind of text.
  public enum Verifier: String, Sendable, CaseIterable {
    /// The last address in the browser.
    case redirectURL
    /// The PIN on the provider's page.
    case pin
  }

  /// A request for a passphrase.
  case enterPassphrase(Passphrase)
  /// A request for the user name and the password at a server of the person's own.
  case enterPassword(Login)
  /// Whether the server's public key is to be trusted although its certificate is not.
  case trustCertificate(Trust)

  /// The kinds of prompt, by their names in the protocol.
  public enum Kind: String, Sendable, CaseIterable {
    case grantAccess, selectAccount, confirmAccount, replaceAccount, openURL, deviceCode
    case enterVerifier, enterPassphrase, enterPassword, trustCertificate
  }

  /// The server and the expected person of a login.
  public struct Login: Sendable, Equatable {
    /// The origin: `https://pbx.example.com:8443`.
    public var server: String
    public var host: String
    /// The user name to use; `nil` if the person enters it.
    public var username: String?
    /// Whether the server refused the previous entry.
    public var isAgain: Bool
    /// Whether the password goes over TLS, or within this machine.
    public var isSafe: Bool
    /// Whether the password may be kept for a renewal without the person.
    public var mayRemember = true

    public init(
      server: String, host: String, username: String? = nil, isAgain: Bool = false,
      isSafe: Bool = true
    ) {
      self.server = server
      self.host = host
      self.username = username
      self.isAgain = isAgain
      self.isSafe = isSafe
    }
  }

  /// A server and its certificate.
  public struct Trust: Sendable, Equatable {
    /// The origin: `https://pbx.example.com:8443`.
    public var server: String
    public var host: String
    public var port: UInt16
    public var certificate: ServerCertificate
    /// The accepted public key that the server does not have any more.
    public var formerPublicKey: String?

    public init(
      server: String, host: String, port: UInt16, certificate: ServerCertificate,
      formerPublicKey: String? = nil
    ) {
      self.server = server
      self.host = host
      self.port = port
      self.certificate = certificate
      self.formerPublicKey = formerPublicKey
    }
  }

  /// The purpose of a passphrase.
  public struct Passphrase: Sendable, Equatable {
    /// The store's key, or an accounts file to write or read.
    public enum Purpose: String, Sendable, CaseIterable { case keySlot, export, `import` }

    public var purpose: Purpose
    /// The path of the store or the accounts file.
    public var path: String?
    /// Whether the passphrase is chosen now; a front end should ask for it twice.
    public var isNew: Bool
    /// Whether the previous entry did not fit.
    public var isAgain: Bool
    /// Whether a short one is refused: `AccountsFile.requireStrength`.
    public var isLong = false

    public init(_ purpose: Purpose, path: String?, isNew: Bool = false, isAgain: Bool = false) {
      self.purpose = purpose
      self.path = path
      self.isNew = isNew
      self.isAgain = isAgain
    }
  }

  public var kind: Kind {
    switch self {
    case .grantAccess: .grantAccess
    case .selectAccount: .selectAccount
    case .confirmAccount: .confirmAccount
    case .replaceAccount: .replaceAccount
    case .openURL: .openURL
    case .deviceCode: .deviceCode
    case .enterVerifier: .enterVerifier
    case .enterPassphrase: .enterPassphrase
    case .enterPassword: .enterPassword
    case .trustCertificate: .trustCertificate
    }
  }
}

extension Prompt.Kind {
  /// Whether the person signs in by this prompt.
  public var isSignIn: Bool {
    switch self {
    case .openURL, .deviceCode, .enterVerifier, .enterPassword: true
    case .grantAccess, .selectAccount, .confirmAccount, .replaceAccount, .enterPassphrase,
      .trustCertificate:
      false
    }
  }
}

/// The person's answer to a prompt.
public enum Answer: Sendable, Equatable {
  /// Yes: with the account for `selectAccount` and `replaceAccount`, with the text for a prompt
  /// that asks for one, and with the user name for `enterPassword`. `remembers`: the password is
  /// kept with the session.
  case accept(
    account: Account.ID? = nil, text: Secret? = nil, username: String? = nil,
    remembers: Bool = false)
  /// No, and remember it.
  case decline
  /// Not now; nothing is remembered.
  case cancel
}

extension Answer {
  /// Returns a SHA-256 digest of the prompt's id and the answer. It tells answers apart without
  /// showing the typed text.
  public func digest(for prompt: String) -> [UInt8] {
    let (word, account, text): (String, String, [UInt8]) =
      switch self {
      case .accept(let id, let typed, let username, let remembers):
        (
          remembers ? "accept and remember" : "accept", id?.rawValue ?? username ?? "",
          typed.map(revealedBytes) ?? []
        )
      case .decline: ("decline", "", [])
      case .cancel: ("cancel", "", [])
      }
    return Digest.sha256(Array("\(prompt)\n\(word)\n\(account)\n".utf8) + text)
  }
}

extension Problem {
  /// The prompt needs no answer any more.
  public static let satisfied = Problem(
    .cancelled, "The prompt is no longer needed.", detail: "satisfied")
}

/// The way from a request to the person: built by the server from its prompts and the front end.
public struct Asker: Sendable {
  /// The kinds of prompt that the front end can show.
  public var kinds: Set<Prompt.Kind>
  /// Asks and waits. Throws `flowExpired` at the deadline, `cancelled` when the task is cancelled,
  /// and `Problem.satisfied` if the prompt needs no answer any more. Only called with a kind in
  /// `kinds`.
  public var ask: @Sendable (Prompt) async throws(Problem) -> Answer
  /// Announces a stage to the front end.
  public var report: @Sendable (Stage) -> Void
  /// Keeps a sentence about the reason for the wait, for the error at the deadline; `nil` withdraws
  /// it.
  public var explain: @Sendable (String?) -> Void
  /// Whether the last prompt of the sign-in said that it gives the application access.
  public var promisedAccess: @Sendable () -> Bool

  public init(
    kinds: Set<Prompt.Kind>, ask: @escaping @Sendable (Prompt) async throws(Problem) -> Answer,
    report: @escaping @Sendable (Stage) -> Void,
    explain: @escaping @Sendable (String?) -> Void = { _ in },
    promisedAccess: @escaping @Sendable () -> Bool = { true }
  ) {
    self.kinds = kinds
    self.ask = ask
    self.report = report
    self.explain = explain
    self.promisedAccess = promisedAccess
  }
}

/// The progress of a flow.
public enum Stage: String, Sendable, CaseIterable {
  case access, selecting, awaitingPerson, discovering, requesting, exchanging, verifying, saving
  /// A sign-in of another program has the port of the redirect address.
  case awaitingPort
  /// Another program signs in to the same provider with the same registration and scopes.
  case awaitingSignIn
}
