/// The only error type of the engine: the reason, the next step and the provider's own words.
///
/// Holds no secret: `message` consists of literals and of names from einlass, and `serverError` was
/// cleaned. The words of the next steps are in `EinlassServer/Wire/NextSteps.swift`.
public struct Problem: Error, Sendable, Equatable {
  /// The kind of problem, for programs. `EinlassServer/Wire/Reasons.swift` has the protocol's
  /// numbers.
  public enum Reason: String, Sendable, CaseIterable {
    case noSystemAccount, accessNotGranted, userCanceledAccountSelection, accountBanned
    case reloginNeeded, notIssuedToThisClient, authenticatorUnconfigured, networkFailure
    case providerFailure
    case accountStoreFailure, interactionRequired, userCanceled, accessDenied, stateMismatch
    case flowExpired, flowNotSupported, wrongCredentials, throttled, tokenNotSaved
    case verificationFailed
    case unknownProvider, unknownAccount, unknownFlow, unknownPrompt, promptAlreadyAnswered
    case invalidChoice, reservedParameter, bindingMismatch, unsafeURL, accountExists
    // The directory of users, with the numbers that Firebase Authentication gives them.
    case invalidCredential, emailAlreadyInUse, invalidEmail, wrongPassword, tooManyRequests
    case userNotFound, accountExistsWithDifferentCredential, requiresRecentLogin
    case providerAlreadyLinked, noSuchProvider, userMismatch, credentialAlreadyInUse
    case weakPassword, missingEmail, nullUser
    /// The task was cancelled: `-32800` on the wire.
    case cancelled
    /// A parameter that passed the schema but not the engine's checks: `-32602` on the wire, with
    /// `path`.
    case invalidParameter
    /// A fault in einlass: `-32603` on the wire.
    case `internal`
  }

  /// A next step that is no request, before the one of `hint`.
  public enum Advice: String, Sendable, CaseIterable {
    case tryAgain, tryLater, report, updateEinlass, freeMemory, raiseProcessLimit
    // At the provider.
    case checkClock, unlockOnWeb, changeSettings, checkRights, signOutThere, enterShownPIN
    case checkClientID, checkClientKey, checkClientCertificate, askOperator
    case pasteAddress, signInOrReport, signInAtProvider, signInElsewhere, signInWithoutAccount
    case signInForResource, useOtherFlow, nameAssertion, replaceAssertion
    // In the network, and in the configuration.
    case nameWithHTTPS, nameServer, checkProxy, checkCAFile, checkServerCAFile, nameProvidersFile
    case checkAddress, checkNetwork, trustAuthority, checkCertificate, addCertificate
    case installLibcurl, freeDescriptors
    case useOtherConfiguration, correctPrompter, correctFile, publishMetadata, removeProviders
    case restoreProvidersFile, requestLess
    // About users.
    case linkFirst, linkAnother, restoreProvider, linkPasswordAgain, linkIdentityAgain
    case changeAddress
    // About files.
    case nameAnotherPlace, nameFile, nameTarget, namePrivatePlace, closeToOthers, runAsOwner
    case removeLinks, finishInput, createFolder, nameExport, exportAgain, enterExportPassphrase
    case chooseLongerPassphrase
    // About the store and its key.
    case checkStorePath, setHome, setHomeOrStore, setHomeAlone, signInOrRemove, removeOldStore
    case restoreStoreFile, finishMove, restoreKey, passRightPassphrase, passSecret
    case configureAgain, restoreKeyFile, copyKeyFile, correctKeyCommand, nameKeyCommand
    case restoreOrOtherSlot, useOtherSlot, addSlotFirst, startSecretService, installSecretTool
    case unlockStore, addFirst, nameStore
    // About a database.
    case copyDatabase, installLibpq, createDatabase, askForRights, namePrimary, changeTables
    case dropSchema, correctAddress, hidePassword, verifyServer
  }

  /// The cause of a store failure, sent as `detail`.
  public enum StoreDetail: String, Sendable, CaseIterable {
    case locked, full, readOnly, corrupt, tooNew, permissions, keyUnavailable, decryptFailed
    case unsupportedFileSystem, refused, tooManyOpenFiles, unreachable
  }

  public var reason: Reason
  /// English text for people: what happened, without a next step.
  public var message: String
  public var advice: Advice?
  public var detail: String?
  public var isRetryable: Bool
  public var provider: String?
  public var account: Account.ID?
  /// The path of a file, or a JSON pointer for `invalidParameter`.
  public var path: String?
  /// The id of the process that holds the store's lock.
  public var holder: Int?
  /// An NSURLErrorDomain number.
  public var networkCode: Int?
  /// Whether a request without a response may have reached the server.
  public var mayHaveArrived = false
  public var retryAfterSeconds: Int?
  @Indirect public var serverError: ServerError?
  /// The protocol method that solves the problem, with its parameters.
  @Indirect public var hint: Hint?
  /// A command of a shell for the first step. It is shown, and never run.
  @Indirect public var command: String?
  /// A page of the provider for the first step.
  @Indirect public var page: String?
  /// For `interactionRequired`: the prompts that were needed.
  public var neededPrompts: [Prompt]
  /// For `interactionRequired` before the first prompt: the kinds that the front end lacks.
  public var neededKinds: [Prompt.Kind] = []
  @Indirect public var collision: Collision?
  /// The person of a token whose application is unknown, so it proves nobody.
  @Indirect public var identity: Identity?

  public init(
    _ reason: Reason, _ message: String, advice: Advice? = nil, command: String? = nil,
    detail: String? = nil, isRetryable: Bool = false, provider: String? = nil,
    account: Account.ID? = nil,
    path: String? = nil, networkCode: Int? = nil, retryAfterSeconds: Int? = nil,
    serverError: ServerError? = nil, hint: Hint? = nil, page: String? = nil,
    neededPrompts: [Prompt] = []
  ) {
    self.reason = reason
    self.message = message
    self.detail = detail
    self.isRetryable = isRetryable
    self.advice = advice
    self.command = command
    self.provider = provider
    self.account = account
    self.path = path
    self.networkCode = networkCode
    self.retryAfterSeconds = retryAfterSeconds
    self.serverError = serverError
    self.hint = hint
    self.page = page
    self.neededPrompts = neededPrompts
  }

  /// Returns a problem of the store; only `locked` and `unreachable` are retryable.
  public static func store(
    _ detail: StoreDetail, _ message: String, advice: Advice? = nil, command: String? = nil,
    path: String? = nil, account: Account.ID? = nil
  ) -> Problem {
    Problem(
      .accountStoreFailure, message, advice: advice, command: command, detail: detail.rawValue,
      isRetryable: detail == .locked || detail == .unreachable, account: account, path: path)
  }
}

extension Problem {
  /// The provider's own error message: cleaned of controls, at most 200 bytes of text.
  public struct ServerError: Sendable, Equatable {
    public var status: Int?
    public var code: String?
    public var subcode: String?
    public var text: String?
    /// The code as the provider sent it, if it is a known one; `code` may lack a part of it that is a
    /// secret too.
    var oauthCode: OAuthCode?

    /// The codes of OAuth that decide something.
    enum OAuthCode: String {
      case invalidClient = "invalid_client"
      case invalidGrant = "invalid_grant"
      case invalidRequest = "invalid_request"
      case invalidToken = "invalid_token"
      case unsupportedGrantType = "unsupported_grant_type"
      case invalidTarget = "invalid_target"
      case invalidProof = "invalid_dpop_proof"
      case missingNonce = "use_dpop_nonce"

      /// Whether the request is at fault, and not the grant or the client.
      var isAboutRequest: Bool {
        [.unsupportedGrantType, .invalidTarget, .invalidProof, .missingNonce].contains(self)
      }
    }

    public init(
      status: Int? = nil, code: String? = nil, subcode: String? = nil, text: String? = nil
    ) {
      oauthCode = code.flatMap(OAuthCode.init)
      self.status = status
      self.code = code
      self.subcode = subcode
      self.text = text
    }
  }

  /// A method of the protocol with its parameters.
  public struct Hint: Sendable, Equatable {
    public var method: String
    public var parameters: [String: String]
    /// The list parameters, such as `scopes`. An empty list is left out. `nearest` is none: it has
    /// the names that a misspelt one may mean.
    public var lists: [String: [String]] = [:]
    /// Whether to pass `replace: true`, because the existing file or account is to be overwritten.
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
