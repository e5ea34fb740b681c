/// The one error of the domain: what the receiver does next, plus the provider's own words.
///
/// Holds no secret: `message` is made of literals and names of ours, and `serverError` was cleaned.
public struct Problem: Error, Sendable, Equatable {
  /// What programs switch on. The numbers 1001–1029 of the protocol stand in `ErrorMapping.swift`.
  public enum Reason: String, Sendable, CaseIterable {
    case noSystemAccount, accessNotGranted, userCanceledAccountSelection, accountBanned
    case reloginNeeded, notIssuedToThisClient, authenticatorUnconfigured, networkFailure
    case providerFailure
    case accountStoreFailure, interactionRequired, userCanceled, accessDenied, stateMismatch
    case flowExpired, flowNotSupported, wrongCredentials, throttled, tokenNotSaved
    case verificationFailed
    case unknownProvider, unknownAccount, unknownFlow, unknownPrompt, promptAlreadyAnswered
    case invalidChoice, reservedParameter, bindingMismatch, unsafeURL, accountExists
    /// The task was cancelled: `-32800` on the wire.
    case cancelled
    /// A parameter that only the domain can judge: `-32602` on the wire, with `path`.
    case invalidParameter
    /// A fault of ours: `-32603` on the wire.
    case `internal`
  }

  /// What to do besides following `hint`.
  public enum Advice: String, Sendable, CaseIterable {
    case checkClock, unlockOnWeb, changeSettings
  }

  /// Why the account store failed, as `detail` on the wire.
  public enum StoreDetail: String, Sendable, CaseIterable {
    case locked, full, readOnly, corrupt, tooNew, permissions, keyUnavailable, decryptFailed
    case unsupportedFileSystem, refused, tooManyOpenFiles
  }

  public var reason: Reason
  /// One English sentence for people: what happened and the next step.
  public var message: String
  public var detail: String?
  public var isRetryable: Bool
  public var advice: Advice?
  public var provider: String?
  public var account: Account.ID?
  /// A file of the person's, or a JSON pointer for `invalidParameter`.
  public var path: String?
  /// The id of the process that keeps the store locked.
  public var holder: Int?
  /// An NSURLErrorDomain number.
  public var networkCode: Int?
  /// Whether a request without an answer may have reached the server all the same.
  public var mayHaveArrived = false
  public var retryAfterSeconds: Int?
  public var serverError: ServerError?
  /// The method that mends it, with its parameters.
  public var hint: Hint?
  /// For `interactionRequired`: which prompts were needed and how to do without.
  public var neededPrompts: [Prompt]
  /// For `interactionRequired` before anything is asked: the kinds that the front end lacks.
  public var neededKinds: [Prompt.Kind] = []

  public init(
    _ reason: Reason, _ message: String, detail: String? = nil, isRetryable: Bool = false,
    advice: Advice? = nil, provider: String? = nil, account: Account.ID? = nil,
    path: String? = nil, networkCode: Int? = nil, retryAfterSeconds: Int? = nil,
    serverError: ServerError? = nil, hint: Hint? = nil, neededPrompts: [Prompt] = []
  ) {
    self.reason = reason
    self.message = message
    self.detail = detail
    self.isRetryable = isRetryable
    self.advice = advice
    self.provider = provider
    self.account = account
    self.path = path
    self.networkCode = networkCode
    self.retryAfterSeconds = retryAfterSeconds
    self.serverError = serverError
    self.hint = hint
    self.neededPrompts = neededPrompts
  }

  /// A failing store, with the file and the fix in the message.
  public static func store(
    _ detail: StoreDetail, _ message: String, path: String? = nil, account: Account.ID? = nil
  ) -> Problem {
    Problem(
      .accountStoreFailure, message, detail: detail.rawValue, isRetryable: detail == .locked,
      account: account, path: path)
  }
}

extension Problem {
  /// The provider's own words: cleaned of controls, at most 200 bytes of text.
  public struct ServerError: Sendable, Equatable {
    public var status: Int?
    public var code: String?
    public var subcode: String?
    public var text: String?

    public init(
      status: Int? = nil, code: String? = nil, subcode: String? = nil, text: String? = nil
    ) {
      self.status = status
      self.code = code
      self.subcode = subcode
      self.text = text
    }
  }

  /// A method of the protocol and the parameters to call it with.
  public struct Hint: Sendable, Equatable {
    public var method: String
    public var parameters: [String: String]
    /// The parameters that are lists: `scopes`, say. An empty one is left out.
    public var lists: [String: [String]] = [:]
    /// `replace: true` besides: what is there already is in the way.
    public var replaces: Bool

    public init(
      _ method: String, _ parameters: [String: String] = [:], replaces: Bool = false
    ) {
      self.method = method
      self.parameters = parameters
      self.replaces = replaces
    }
  }
}
