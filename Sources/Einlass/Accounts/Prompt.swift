internal import EinlassCrypto

/// A question to the person. The closed set; on the wire `EinlassServer/Prompts.swift`.
public enum Prompt: Sendable, Equatable {
  /// May this application use accounts of this provider? `added`: what is new beyond an existing grant;
  /// `includes`: what the application gets besides.
  case grantAccess(
    permissions: [String], audience: AccessGrant.Audience?, added: [String],
    includes: [AccessGrant.Inclusion])
  /// Which account? At most 100, last used first; `more`: any other account of the provider is valid too.
  case selectAccount([Account], more: Bool)
  /// Is it this one?
  case confirmAccount(Account)
  /// A sign-in is done, and the provider does not say who signed in: which account gets the credential? At most 100,
  /// last used first; `more`: any other account of the provider is valid too. Accepted without an account: a new one.
  case replaceAccount([Account], more: Bool)
  /// The person's browser goes there. `returningTo`: the address that only the front end can catch, which it hands in
  /// with its answer; `nil` where einlass listens.
  case openURL(WebAddress, returningTo: String?)
  /// The person enters this code on that page, on any device, until then. `wholePage`: with the code in it.
  case deviceCode(
    WebAddress, wholePage: WebAddress?, userCode: String, expiresAt: UnixTime)
  /// The person reads something off a page and brings it here; `isAgain`: what was brought before was something else;
  /// `returningTo`: as with `openURL`.
  case enterVerifier(Verifier, isAgain: Bool = false, returningTo: String? = nil)

  /// What is brought.
  public enum Verifier: String, Sendable, CaseIterable {
    /// The address that the browser ended on.
    case redirectURL
    /// What the provider's page shows.
    case pin
  }

  /// Which passphrase opens this, or is to seal it?
  case enterPassphrase(Passphrase)

  /// The kinds, by their names in the protocol.
  public enum Kind: String, Sendable, CaseIterable {
    case grantAccess, selectAccount, confirmAccount, replaceAccount, openURL, deviceCode
    case enterVerifier, enterPassphrase
  }

  /// What a passphrase is asked for.
  public struct Passphrase: Sendable, Equatable {
    /// The key of the store, or a file of accounts.
    public enum Purpose: String, Sendable, CaseIterable { case keySlot, export, `import` }

    public var purpose: Purpose
    /// The store or the file.
    public var path: String?
    /// It is to be chosen now, and better typed twice.
    public var isNew: Bool
    /// The one that was entered before does not fit.
    public var isAgain: Bool

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
    }
  }
}

/// What the person said to a prompt.
public enum Answer: Sendable, Equatable {
  /// Yes; for `selectAccount` and `replaceAccount` with the account, for a question for a text with that.
  case accept(account: Account.ID? = nil, text: Secret? = nil)
  /// No, and remember it.
  case decline
  /// Not now.
  case cancel
}

extension Answer {
  /// What tells an answer to the prompt of this id from another one, and nothing of what was typed.
  public func digest(for prompt: String) -> [UInt8] {
    let (word, account, text): (String, String, [UInt8]) =
      switch self {
      case .accept(let id, let typed):
        ("accept", id?.rawValue ?? "", typed.map(revealedBytes) ?? [])
      case .decline: ("decline", "", [])
      case .cancel: ("cancel", "", [])
      }
    return Digest.sha256(Array("\(prompt)\n\(word)\n\(account)\n".utf8) + text)
  }
}

/// How a request reaches the person: built by the server from its prompts and the peer.
public struct Asker: Sendable {
  /// The kinds that the front end can show.
  public var kinds: Set<Prompt.Kind>
  /// Asks and waits. Throws `flowExpired` when the deadline passes and `cancelled` when the task is.
  /// Only called with a kind that `kinds` holds.
  public var ask: @Sendable (Prompt) async throws(Problem) -> Answer
  /// Announces a stage.
  public var report: @Sendable (Stage) -> Void

  public init(
    kinds: Set<Prompt.Kind>, ask: @escaping @Sendable (Prompt) async throws(Problem) -> Answer,
    report: @escaping @Sendable (Stage) -> Void
  ) {
    self.kinds = kinds
    self.ask = ask
    self.report = report
  }
}

/// How far a flow is.
public enum Stage: String, Sendable, CaseIterable {
  case access, selecting, awaitingPerson, discovering, requesting, exchanging, verifying, saving
  /// Somebody else has the port that the browser comes back to.
  case awaitingPort
}
