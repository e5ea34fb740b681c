"""The types of the protocol. `protocol/generate` writes this file from protocol/openrpc.json.

The parameters of `accounts.list` are `AccountsListParams`, its result is `AccountsListResult`. A member may be missing
unless its class is the base of another one here, or has no base and no `total=False`.
"""

from typing import Any, Dict, List, Literal, TypedDict, Union


class AccountRefusals(TypedDict, total=False):
    address: str
    endsAt: int
    resource: str


class NextStepAlways(TypedDict):
    label: str


class NextStep(NextStepAlways, total=False):
    method: str
    params: Dict[str, Any]
    page: str
    command: str


class AccountAlways(TypedDict):
    account: str
    provider: str
    username: str
    health: Literal["ok", "reloginNeeded", "banned", "locked", "refreshRefused"]
    signedIn: bool
    preferred: bool
    addedAt: int


class Account(AccountAlways, total=False):
    displayName: str
    subject: str
    email: str
    avatar: str
    refreshFailsSince: int
    refreshExpiresAt: int
    scopes: List[str]
    resources: List[str]
    refusals: List[AccountRefusals]
    next: List[NextStep]


class AuditEntryAlways(TypedDict):
    at: int
    application: str
    method: str
    process: int
    parent: str


class AuditEntry(AuditEntryAlways, total=False):
    provider: str
    account: str
    clientId: str
    credential: str
    tokenDigest: str
    includes: List[Literal["refreshToken"]]
    subject: str
    state: Literal["granted", "denied"]
    count: int
    request: str
    methods: List[str]
    accounts: List[str]
    until: int


class Oauth1CredentialAlways(TypedDict):
    type: Literal["oauth1"]
    key: str
    secret: str


class Oauth1Credential(Oauth1CredentialAlways, total=False):
    id: str
    name: str
    email: str
    avatar: str
    screenName: str


class Oauth2CredentialAlways(TypedDict):
    type: Literal["oauth2"]
    token: str
    tokenType: str
    scopes: List[str]


class Oauth2Credential(Oauth2CredentialAlways, total=False):
    id: str
    name: str
    email: str
    avatar: str
    expiresAt: int
    idToken: str
    idTokenOf: Literal["current", "former"]
    idTokenExpiresAt: int
    refreshToken: str


class SessionCredentialAlways(TypedDict):
    type: Literal["session"]
    username: str
    values: Dict[str, str]


class SessionCredential(SessionCredentialAlways, total=False):
    id: str
    sessionId: str
    cookies: str

#: Credential
Credential = Union[Oauth1Credential, Oauth2Credential, SessionCredential]


class ErrorDataServerError(TypedDict, total=False):
    """The words of the provider, cleaned."""
    status: int
    code: str
    subcode: str
    text: str


class NeededPromptAlways(TypedDict):
    kind: Literal[
        "grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode",
        "enterVerifier", "enterPassphrase", "enterPassword", "trustCertificate"
    ]


class NeededPrompt(NeededPromptAlways, total=False):
    parameter: str
    method: str
    option: str
    expiresAt: int
    accounts: List[Account]
    more: bool
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]
    includes: List[Literal["refreshToken"]]
    url: str
    host: str
    verificationUri: str
    verificationUriComplete: str
    userCode: str
    returningTo: str
    expects: Literal["redirectURL", "pin"]
    added: List[str]
    grantsAccess: bool
    server: str
    secure: bool
    port: int
    publicKey: str
    fault: Literal["selfSigned", "unknownAuthority", "expired", "notYetValid", "otherHost", "untrusted"]
    certificateEndsAt: int
    formerPublicKey: str
    username: str
    purpose: Literal["keySlot", "export", "import"]
    path: str
    new: bool
    again: bool
    mayRemember: bool


class IdentityAlways(TypedDict):
    id: str


class Identity(IdentityAlways, total=False):
    name: str
    username: str
    email: str
    avatar: str


class ErrorDataAlways(TypedDict):
    reason: Literal[
        "invalidJSON", "invalidUTF8", "lineTooLong", "tooDeep", "invalidHeader", "invalidRequest", "invalidId",
        "duplicateKey", "duplicateId", "emptyBatch", "batchTooLarge", "notBatchable", "alreadyInitialized",
        "shuttingDown", "unknownMethod", "invalidParams", "positionalParams", "unsupportedVersion", "invalidCursor",
        "internal", "cancelled", "overloaded", "noSystemAccount", "accessNotGranted",
        "userCanceledAccountSelection", "accountBanned", "reloginNeeded", "notIssuedToThisClient",
        "authenticatorUnconfigured", "networkFailure", "providerFailure", "accountStoreFailure",
        "interactionRequired", "userCanceled", "accessDenied", "stateMismatch", "flowExpired", "flowNotSupported",
        "wrongCredentials", "throttled", "tokenNotSaved", "verificationFailed", "unknownProvider", "unknownAccount",
        "unknownFlow", "unknownPrompt", "promptAlreadyAnswered", "invalidChoice", "reservedParameter",
        "bindingMismatch", "unsafeURL", "accountExists", "invalidCredential", "emailAlreadyInUse", "invalidEmail",
        "wrongPassword", "tooManyRequests", "userNotFound", "accountExistsWithDifferentCredential",
        "requiresRecentLogin", "providerAlreadyLinked", "noSuchProvider", "userMismatch", "credentialAlreadyInUse",
        "weakPassword", "missingEmail", "nullUser"
    ]
    retryable: bool
    next: List[NextStep]


class ErrorData(ErrorDataAlways, total=False):
    """The data for programs."""
    detail: str
    final: bool
    provider: str
    account: str
    flow: str
    path: str
    expected: str
    supported: List[int]
    method: str
    by: Literal["client", "authCancel", "endOfInput", "shutdown"]
    holder: int
    networkCode: int
    retryAfterSeconds: int
    serverError: ErrorDataServerError
    prompts: List[NeededPrompt]
    outcome: Literal["accepted", "declined", "cancelled", "expired", "satisfied"]
    identity: Identity
    email: str
    providers: List[str]
    pendingCredential: str


class Error(TypedDict):
    code: int
    message: str
    data: ErrorData


class GrantAlways(TypedDict):
    application: str
    provider: str
    state: Literal["granted", "denied"]
    permissions: List[str]
    changedAt: int


class Grant(GrantAlways, total=False):
    accounts: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]
    includes: List[Literal["refreshToken"]]
    applicationTitle: str


class OwnServer(TypedDict, total=False):
    host: str
    port: int
    secure: bool
    username: str
    useCookies: bool
    acceptUntrustedCertificates: bool
    trustedPublicKey: str
    caFile: str


class ProblemAlways(TypedDict):
    code: int
    reason: Literal[
        "invalidJSON", "invalidUTF8", "lineTooLong", "tooDeep", "invalidHeader", "invalidRequest", "invalidId",
        "duplicateKey", "duplicateId", "emptyBatch", "batchTooLarge", "notBatchable", "alreadyInitialized",
        "shuttingDown", "unknownMethod", "invalidParams", "positionalParams", "unsupportedVersion", "invalidCursor",
        "internal", "cancelled", "overloaded", "noSystemAccount", "accessNotGranted",
        "userCanceledAccountSelection", "accountBanned", "reloginNeeded", "notIssuedToThisClient",
        "authenticatorUnconfigured", "networkFailure", "providerFailure", "accountStoreFailure",
        "interactionRequired", "userCanceled", "accessDenied", "stateMismatch", "flowExpired", "flowNotSupported",
        "wrongCredentials", "throttled", "tokenNotSaved", "verificationFailed", "unknownProvider", "unknownAccount",
        "unknownFlow", "unknownPrompt", "promptAlreadyAnswered", "invalidChoice", "reservedParameter",
        "bindingMismatch", "unsafeURL", "accountExists", "invalidCredential", "emailAlreadyInUse", "invalidEmail",
        "wrongPassword", "tooManyRequests", "userNotFound", "accountExistsWithDifferentCredential",
        "requiresRecentLogin", "providerAlreadyLinked", "noSuchProvider", "userMismatch", "credentialAlreadyInUse",
        "weakPassword", "missingEmail", "nullUser"
    ]
    message: str
    next: List[NextStep]


class Problem(ProblemAlways, total=False):
    detail: str
    path: str
    final: bool


class PromptFormPage(TypedDict):
    """A page to open."""
    url: str
    host: str


class PromptFormChoicesAlways(TypedDict):
    label: str
    answer: Dict[str, Any]


class PromptFormChoices(PromptFormChoicesAlways, total=False):
    detail: str


class PromptFormFieldsAlways(TypedDict):
    name: str
    label: str
    type: Literal["text", "secret", "flag"]


class PromptFormFields(PromptFormFieldsAlways, total=False):
    twice: bool


class PromptFormButtonsAlways(TypedDict):
    action: str
    label: str


class PromptFormButtons(PromptFormButtonsAlways, total=False):
    default: bool


class PromptFormAlways(TypedDict):
    title: str
    buttons: List[PromptFormButtons]


class PromptForm(PromptFormAlways, total=False):
    text: List[str]
    warning: str
    page: PromptFormPage
    code: str
    choices: List[PromptFormChoices]
    fields: List[PromptFormFields]


class GrantAccessPromptAlways(TypedDict):
    kind: Literal["grantAccess"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    permissions: List[str]
    added: List[str]


class GrantAccessPrompt(GrantAccessPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    audience: Literal["onlyMe", "friends", "everyone"]
    includes: List[Literal["refreshToken"]]


class SelectAccountPromptAlways(TypedDict):
    kind: Literal["selectAccount"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    accounts: List[Account]


class SelectAccountPrompt(SelectAccountPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    more: bool


class ConfirmAccountPromptAlways(TypedDict):
    kind: Literal["confirmAccount"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    accounts: List[Account]


class ConfirmAccountPrompt(ConfirmAccountPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str


class ReplaceAccountPromptAlways(TypedDict):
    kind: Literal["replaceAccount"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    accounts: List[Account]


class ReplaceAccountPrompt(ReplaceAccountPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    more: bool


class OpenURLPromptAlways(TypedDict):
    kind: Literal["openURL"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    url: str
    host: str


class OpenURLPrompt(OpenURLPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    returningTo: str
    grantsAccess: bool
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]


class DeviceCodePromptAlways(TypedDict):
    kind: Literal["deviceCode"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    verificationUri: str
    host: str
    userCode: str


class DeviceCodePrompt(DeviceCodePromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    verificationUriComplete: str
    grantsAccess: bool
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]


class EnterVerifierPromptAlways(TypedDict):
    kind: Literal["enterVerifier"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    expects: Literal["redirectURL", "pin"]


class EnterVerifierPrompt(EnterVerifierPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    again: bool
    returningTo: str
    grantsAccess: bool
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]


class EnterPassphrasePromptAlways(TypedDict):
    kind: Literal["enterPassphrase"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    purpose: Literal["keySlot", "export", "import"]


class EnterPassphrasePrompt(EnterPassphrasePromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    path: str
    new: bool
    again: bool


class EnterPasswordPromptAlways(TypedDict):
    kind: Literal["enterPassword"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    server: str
    host: str


class EnterPasswordPrompt(EnterPasswordPromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    username: str
    again: bool
    mayRemember: bool
    secure: bool
    grantsAccess: bool
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]


class TrustCertificatePromptAlways(TypedDict):
    kind: Literal["trustCertificate"]
    prompt: str
    flows: List[str]
    application: str
    show: PromptForm
    expiresAt: int
    server: str
    host: str
    port: int
    publicKey: str
    certificateEndsAt: int


class TrustCertificatePrompt(TrustCertificatePromptAlways, total=False):
    requests: List[Any]
    applicationTitle: str
    provider: str
    providerName: str
    resource: str
    fault: Literal["selfSigned", "unknownAuthority", "expired", "notYetValid", "otherHost", "untrusted"]
    formerPublicKey: str

#: Prompt
Prompt = Union[
    GrantAccessPrompt, SelectAccountPrompt, ConfirmAccountPrompt, ReplaceAccountPrompt, OpenURLPrompt,
    DeviceCodePrompt, EnterVerifierPrompt, EnterPassphrasePrompt, EnterPasswordPrompt, TrustCertificatePrompt
]


class ProviderHostsAlways(TypedDict):
    host: str
    scheme: Literal["basic", "bearer"]


class ProviderHosts(ProviderHostsAlways, total=False):
    username: str


class ProviderCan(TypedDict):
    """The abilities of the provider."""
    reverseAuth: bool
    refresh: bool
    email: bool
    revoke: bool
    verify: bool


class ProviderSetupAlways(TypedDict):
    documentation: str
    needs: List[Literal["clientId", "clientSecret", "privateKey", "certificate", "redirect"]]


class ProviderSetup(ProviderSetupAlways, total=False):
    """The instructions for a registration."""
    verifyNeeds: List[Literal["clientId", "clientSecret", "privateKey", "certificate", "redirect"]]
    form: str
    steps: List[str]
    redirect: str
    costs: str
    approval: str
    ends: str
    notes: str


class ProviderAlways(TypedDict):
    id: str
    name: str
    flowKinds: List[
        Literal["reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials",
        "jwtBearer", "tokenExchange", "passwordSession"]
    ]
    configured: bool
    oneAccount: bool
    retired: bool
    can: ProviderCan
    setup: ProviderSetup


class Provider(ProviderAlways, total=False):
    aliases: List[str]
    homepage: str
    server: str
    registeredFlows: List[
        Literal["reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials",
        "jwtBearer", "tokenExchange", "passwordSession"]
    ]
    problem: Problem
    added: bool
    hosts: List[ProviderHosts]
    scopeNames: Dict[str, List[str]]
    scopeContents: Dict[str, List[str]]


class SignInPage(TypedDict, total=False):
    loginHint: str
    prompt: str
    maxAgeSeconds: int
    acrValues: str
    claims: Dict[str, Any]


class UserIdentitiesAlways(TypedDict):
    provider: str
    subject: str


class UserIdentities(UserIdentitiesAlways, total=False):
    email: str
    account: str


class UserAlways(TypedDict):
    user: str
    application: str
    emailVerified: bool
    identities: List[UserIdentities]
    createdAt: int


class User(UserAlways, total=False):
    displayName: str
    email: str
    photo: str
    lastSignInAt: int


class ShutdownParams(TypedDict):
    """Cancels the running requests, answers every request, and ends; later requests are refused."""


class ShutdownResult(TypedDict):
    pass


ExitParams = ShutdownParams


class CancelRequestParams(TypedDict):
    """A notification: the request with this id is still answered, with -32800."""
    id: Any


class InitializeParamsClientAlways(TypedDict):
    name: str


class InitializeParamsClient(InitializeParamsClientAlways, total=False):
    """The front end."""
    title: str
    version: str


class InitializeParamsCapabilities(TypedDict, total=False):
    """The abilities of the front end."""
    prompts: List[str]
    changes: bool
    network: bool
    users: bool


class InitializeParamsApplicationsAlways(TypedDict):
    clientId: str


class InitializeParamsApplications(InitializeParamsApplicationsAlways, total=False):
    clientSecret: str
    privateKey: str
    authentication: Literal[
        "none", "client_secret_basic", "client_secret_basic_plain", "client_secret_basic_empty",
        "client_secret_post", "client_secret_jwt", "private_key_jwt", "client_secret_signed", "tls_client_auth",
        "self_signed_tls_client_auth"
    ]
    keyId: str
    redirect: str
    certificate: str
    dpop: bool
    idTokenAlgorithm: Literal[
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256"
    ]
    assertionAudience: Literal["endpoint", "issuer"]
    resourceParameter: Literal["omit"]
    teamId: str


class InitializeParamsAlways(TypedDict):
    client: InitializeParamsClient


class InitializeParams(InitializeParamsAlways, total=False):
    """Introduces the front end. Optional; allowed only as the first request. Never opens the key."""
    protocolVersion: int
    processId: int
    capabilities: InitializeParamsCapabilities
    applications: Dict[str, InitializeParamsApplications]
    locale: str


class InitializeResultServer(TypedDict):
    """The name and the version of this program."""
    name: str
    version: str


class InitializeResultCapabilities(TypedDict):
    """The abilities of this process."""
    methods: List[str]
    notifications: List[str]
    prompts: List[
        Literal["grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode",
        "enterVerifier", "enterPassphrase", "enterPassword", "trustCertificate"]
    ]
    changes: bool
    network: bool


class InitializeResultUnderstood(TypedDict):
    """The capabilities of the front end in effect; unknown names and kinds are missing."""
    prompts: List[str]
    changes: bool
    network: bool
    users: bool


class InitializeResultLimits(TypedDict):
    """The limits of the protocol, in bytes and counts."""
    inboundLineBytes: int
    outboundLineBytes: int
    nesting: int
    idBytes: int
    batchEntries: int
    queuedRequests: int
    runningFlows: int


class InitializeResultStore(TypedDict, total=False):
    """The protection and the revision of the store, or the problem with it."""
    protection: str
    revision: int
    problem: Problem


class InitializeResultConfiguration(TypedDict):
    """The fault of the configuration file, or of a provider file, that cannot be used."""
    problem: Problem


class InitializeResultLeftOutAlways(TypedDict):
    message: str
    next: List[NextStep]


class InitializeResultLeftOut(InitializeResultLeftOutAlways, total=False):
    provider: str


class InitializeResultAlways(TypedDict):
    protocolVersion: int
    server: InitializeResultServer
    capabilities: InitializeResultCapabilities
    understood: InitializeResultUnderstood
    limits: InitializeResultLimits
    store: InitializeResultStore


class InitializeResult(InitializeResultAlways, total=False):
    configuration: InitializeResultConfiguration
    leftOut: List[InitializeResultLeftOut]


RpcDiscoverParams = ShutdownParams


RpcDiscoverResult = Any


class ProvidersListParams(TypedDict, total=False):
    """The built-in providers and the added ones, with their abilities and setup; retired ones come last."""
    limit: int
    cursor: str


class ProvidersListResultAlways(TypedDict):
    providers: List[Provider]


class ProvidersListResult(ProvidersListResultAlways, total=False):
    nextCursor: str


class ProvidersAddParams(TypedDict, total=False):
    """Adds a provider that describes itself (OpenID Connect Discovery, RFC 8414), or one by a descriptor."""
    issuer: str
    descriptor: Any
    id: str
    name: str


class ProvidersAddResultAlways(TypedDict):
    provider: str
    created: bool


class ProvidersAddResult(ProvidersAddResultAlways, total=False):
    ignored: List[str]


class ProvidersRemoveParams(TypedDict):
    """Removes an added provider and its stored registration; its accounts stay, and serve again when it is added
    again."""
    provider: str


class ProvidersRemoveResult(TypedDict):
    registration: bool


class ProvidersConfigureParamsAlways(TypedDict):
    provider: str


class ProvidersConfigureParams(ProvidersConfigureParamsAlways, total=False):
    """Stores the person's own registration at a provider, sealed, for each application without one."""
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    clientId: str
    remove: bool
    clientSecret: str
    privateKey: str
    authentication: Literal[
        "none", "client_secret_basic", "client_secret_basic_plain", "client_secret_basic_empty",
        "client_secret_post", "client_secret_jwt", "private_key_jwt", "client_secret_signed", "tls_client_auth",
        "self_signed_tls_client_auth"
    ]
    keyId: str
    redirect: str
    certificate: str
    dpop: bool
    idTokenAlgorithm: Literal[
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256"
    ]
    assertionAudience: Literal["endpoint", "issuer"]
    resourceParameter: Literal["omit"]
    teamId: str


class ProvidersConfigureResult(TypedDict):
    configured: bool
    revision: int


class AccountsListParams(TypedDict, total=False):
    """The stored accounts in order of adding. Opens no key and shows no prompt."""
    provider: str
    limit: int
    cursor: str


class AccountsListResultAlways(TypedDict):
    revision: int
    accounts: List[Account]


class AccountsListResult(AccountsListResultAlways, total=False):
    nextCursor: str


class Oauth1AccountsAddParamsCredential(TypedDict):
    type: Literal["oauth1"]
    key: str
    secret: str
    clientId: str
    clientSecret: str


class Oauth2AccountsAddParamsCredentialAlways(TypedDict):
    type: Literal["oauth2"]
    token: str
    clientId: str


class Oauth2AccountsAddParamsCredential(Oauth2AccountsAddParamsCredentialAlways, total=False):
    refreshToken: str
    expiresAt: int
    scopes: List[str]


class AccountsAddParamsAlways(TypedDict):
    provider: str
    username: str
    credential: Union[Oauth1AccountsAddParamsCredential, Oauth2AccountsAddParamsCredential]


class AccountsAddParams(AccountsAddParamsAlways, total=False):
    """Stores an account with a credential that the front end brings; every secret is sealed."""
    displayName: str
    subject: str
    replace: bool


class AccountsAddResult(TypedDict):
    account: str
    created: bool
    revision: int


class AccountsSignInParams(TypedDict, total=False):
    """Signs a person in at a provider or for a protected resource: adds an account, or signs in to an existing one
    again."""
    provider: str
    resource: str
    challenge: str
    probe: bool
    account: str
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    assertionFrom: str
    detached: bool
    deadlineSeconds: int
    scopes: List[str]
    customParameters: Dict[str, str]
    page: SignInPage
    server: OwnServer


class AccountsSignInResultAlways(TypedDict):
    flow: str


class AccountsSignInResult(AccountsSignInResultAlways, total=False):
    account: str
    created: bool
    emailVerified: bool
    profile: Dict[str, Any]
    identityProblem: Problem
    provider: str
    resource: str


class AccountsUpdateParamsAlways(TypedDict):
    account: str


class AccountsUpdateParams(AccountsUpdateParamsAlways, total=False):
    """Changes the display name; an empty one removes it."""
    displayName: str


class AccountsUpdateResult(TypedDict):
    revision: int


class AccountsSetPreferredParamsAlways(TypedDict):
    provider: str


class AccountsSetPreferredParams(AccountsSetPreferredParamsAlways, total=False):
    """Sets the account of a provider that an application prefers; without an account, removes the preference."""
    account: str
    application: str


AccountsSetPreferredResult = AccountsUpdateResult


class AccountsExplainParamsAlways(TypedDict):
    provider: str


class AccountsExplainParams(AccountsExplainParamsAlways, total=False):
    """Explains which account auth.perform would use with these parameters; changes nothing."""
    account: str
    confirm: bool
    selection: Literal["always", "whenMany"]
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]
    includeRefreshToken: bool


class AccountsExplainResultAlways(TypedDict):
    rule: Literal["account", "confirm", "onlyAccount", "preferred", "person", "nothing"]
    prompts: List[
        Literal["grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode",
        "enterVerifier", "enterPassphrase", "enterPassword", "trustCertificate"]
    ]


class AccountsExplainResult(AccountsExplainResultAlways, total=False):
    account: str
    error: Error


class AccountsRenewParamsAlways(TypedDict):
    account: str


class AccountsRenewParams(AccountsRenewParamsAlways, total=False):
    """Renews the application's credential at the provider, as far as that goes without the person."""
    resource: str


class AccountsRenewResultAlways(TypedDict):
    result: Literal["renewed", "rejected", "failed"]


class AccountsRenewResult(AccountsRenewResultAlways, total=False):
    error: Error


class AccountsSignOutParamsAlways(TypedDict):
    account: str


class AccountsSignOutParams(AccountsSignOutParamsAlways, total=False):
    """Removes the account's credentials from the store and revokes them at the provider; the account stays."""
    revoke: bool
    requireRevocation: bool


class AccountsSignOutResultNotRevokedAlways(TypedDict):
    what: str
    reason: str


class AccountsSignOutResultNotRevoked(AccountsSignOutResultNotRevokedAlways, total=False):
    next: List[NextStep]


class AccountsSignOutResultAlways(TypedDict):
    revoked: List[str]
    notRevoked: List[AccountsSignOutResultNotRevoked]
    revision: int


class AccountsSignOutResult(AccountsSignOutResultAlways, total=False):
    endSessionURL: str


class AccountsRemoveParamsAlways(TypedDict):
    account: str


class AccountsRemoveParams(AccountsRemoveParamsAlways, total=False):
    """Removes the account and its credentials here, then revokes them at the provider."""
    requireRevocation: bool


AccountsRemoveResult = AccountsSignOutResult


class AccountsExportParamsAlways(TypedDict):
    path: str


class AccountsExportParams(AccountsExportParamsAlways, total=False):
    """Writes all accounts with their credentials to a file that only a passphrase opens."""
    replace: bool
    weak: bool


class AccountsExportResult(TypedDict):
    path: str
    accounts: int
    users: int
    bytes: int


class AccountsImportParamsAlways(TypedDict):
    path: str


class AccountsImportParams(AccountsImportParamsAlways, total=False):
    """Adds the content of a file of accounts.export."""
    replace: bool


class AccountsImportResultAccountsAlways(TypedDict):
    provider: str
    username: str
    result: Literal["refused", "alreadyThere", "replaced", "added"]


class AccountsImportResultAccounts(AccountsImportResultAccountsAlways, total=False):
    account: str
    error: Error


class AccountsImportResult(TypedDict):
    added: int
    replaced: int
    alreadyThere: int
    refused: int
    accounts: List[AccountsImportResultAccounts]
    providers: List[str]
    registrations: List[str]
    users: int
    usersAlreadyThere: int
    usersRefused: int


AccessListParams = ProvidersListParams


class AccessListResultAlways(TypedDict):
    grants: List[Grant]


class AccessListResult(AccessListResultAlways, total=False):
    nextCursor: str


class AccessSetParamsAlways(TypedDict):
    provider: str
    state: Literal["granted", "denied"]


class AccessSetParams(AccessSetParamsAlways, total=False):
    """Grants or denies an application the accounts of a provider, or some of them."""
    application: str
    accounts: List[str]
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]
    includes: List[Literal["refreshToken"]]


AccessSetResult = AccountsUpdateResult


class AccessResetParamsAlways(TypedDict):
    provider: str


class AccessResetParams(AccessResetParamsAlways, total=False):
    """Removes an access decision, so that the next request asks again."""
    application: str


AccessResetResult = AccountsUpdateResult


class AuthPerformParamsAlways(TypedDict):
    provider: str


class AuthPerformParams(AuthPerformParamsAlways, total=False):
    """Asks for access and for the account, then gets a credential for the application."""
    account: str
    confirm: bool
    selection: Literal["always", "whenMany"]
    permissions: List[str]
    audience: Literal["onlyMe", "friends", "everyone"]
    includeRefreshToken: bool
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    signIn: Literal["never", "ifNeeded"]
    credential: Literal["fetch", "none"]
    interactive: Literal["auto", "never"]
    minValiditySeconds: int
    detached: bool
    deadlineSeconds: int
    scopes: List[str]
    customParameters: Dict[str, str]
    page: SignInPage
    server: OwnServer


class AuthPerformResultAlways(TypedDict):
    flow: str


class AuthPerformResult(AuthPerformResultAlways, total=False):
    account: str
    created: bool
    credential: Credential


AuthListParams = ProvidersListParams


class AuthListResultFlows(TypedDict):
    flow: str
    application: str
    provider: str
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    stage: Literal[
        "access", "selecting", "awaitingPerson", "discovering", "requesting", "exchanging", "verifying", "saving",
        "awaitingPort", "awaitingSignIn"
    ]
    startedAt: int
    expiresAt: int
    detached: bool
    prompts: List[str]


class AuthListResultAlways(TypedDict):
    flows: List[AuthListResultFlows]


class AuthListResult(AuthListResultAlways, total=False):
    nextCursor: str


class AuthCancelParams(TypedDict):
    """Cancels a flow; its request answers -32800, or auth.completed has this error."""
    flow: str


AuthCancelResult = ShutdownResult


class CredentialsGetParamsAlways(TypedDict):
    account: str


class CredentialsGetParams(CredentialsGetParamsAlways, total=False):
    """A credential of an account for the application: the stored one while it is valid, else a new one."""
    minValiditySeconds: int
    forceRefresh: bool
    idToken: bool
    scopes: List[str]
    resource: str
    address: str


class CredentialsGetResultAlways(TypedDict):
    credential: Credential


class CredentialsGetResult(CredentialsGetResultAlways, total=False):
    lifetimeSeconds: int


class CredentialsRejectParamsAlways(TypedDict):
    account: str


class CredentialsRejectParams(CredentialsRejectParamsAlways, total=False):
    """Reports that a service has refused the credential (401)."""
    resource: str
    address: str
    onlyRenewable: bool


CredentialsRejectResult = ShutdownResult


class CredentialsSignParamsAlways(TypedDict):
    account: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    url: str


class CredentialsSignParams(CredentialsSignParamsAlways, total=False):
    """Makes the header of a request: an OAuth 1.0a signature, Bearer, DPoP or the provider's own."""
    resource: str
    form: Dict[str, str]
    nonce: str


class CredentialsSignResultHeaders(TypedDict):
    name: str
    value: str


class CredentialsSignResult(TypedDict):
    headers: List[CredentialsSignResultHeaders]


class AvatarsGetParams(TypedDict):
    """The picture of an account as a file beside the store."""
    account: str


class AvatarsGetResult(TypedDict, total=False):
    path: str
    type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    fetchedAt: int


class ServicesResolveParams(TypedDict, total=False):
    """Finds the account whose token an address or a provider takes. Changes nothing."""
    address: str
    provider: str
    account: str
    folder: str


class ServicesResolveResultAlways(TypedDict):
    provider: str
    scheme: Literal["basic", "bearer"]
    rule: Literal["account", "confirm", "onlyAccount", "preferred", "person", "nothing"]


class ServicesResolveResult(ServicesResolveResultAlways, total=False):
    service: str
    resource: str
    username: str
    headers: Dict[str, str]
    scopes: List[str]
    account: str
    error: Error


class Oauth1VerifyParamsCredential(TypedDict):
    type: Literal["oauth1"]
    key: str
    secret: str


class Oauth2VerifyParamsCredentialAlways(TypedDict):
    type: Literal["oauth2"]
    token: str


class Oauth2VerifyParamsCredential(Oauth2VerifyParamsCredentialAlways, total=False):
    idToken: str


class IdTokenVerifyParamsCredential(TypedDict):
    type: Literal["idToken"]
    idToken: str


class VerifyParamsExpect(TypedDict, total=False):
    """The conditions: valid is true only if each of them holds."""
    id: str
    clientId: str
    scopes: List[str]
    nonce: str


class VerifyParamsAlways(TypedDict):
    provider: str


class VerifyParams(VerifyParamsAlways, total=False):
    """Checks a credential at the provider: its validity, its application and its person."""
    credential: Union[Oauth1VerifyParamsCredential, Oauth2VerifyParamsCredential, IdTokenVerifyParamsCredential]
    account: str
    expect: VerifyParamsExpect


class VerifyResultChecksAlways(TypedDict):
    check: str
    ok: bool


class VerifyResultChecks(VerifyResultChecksAlways, total=False):
    detail: str


class VerifyResultAlways(TypedDict):
    valid: bool
    checks: List[VerifyResultChecks]


class VerifyResult(VerifyResultAlways, total=False):
    identity: Identity
    clientId: str
    scopes: List[str]
    expiresAt: int


SettingsGetParams = ProvidersRemoveParams


class SettingsGetResultServerAlways(TypedDict):
    host: str
    useCookies: bool
    acceptUntrustedCertificates: bool


class SettingsGetResultServer(SettingsGetResultServerAlways, total=False):
    """The last settings, as a sign-in takes them; missing before the first sign-in."""
    port: int
    secure: bool
    username: str


class SettingsGetResultAlways(TypedDict):
    provider: str


class SettingsGetResult(SettingsGetResultAlways, total=False):
    server: SettingsGetResultServer


class UsersSignInParams(TypedDict, total=False):
    """Signs a user in, and makes the user if there is none."""
    provider: str
    account: str
    credential: Union[Oauth1VerifyParamsCredential, Oauth2VerifyParamsCredential, IdTokenVerifyParamsCredential]
    pendingCredential: str
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    deadlineSeconds: int
    scopes: List[str]
    customParameters: Dict[str, str]
    page: SignInPage
    server: OwnServer
    includeCredential: bool


class UsersSignInResultAdditionalUserInfoAlways(TypedDict):
    providerId: str
    isNewUser: bool


class UsersSignInResultAdditionalUserInfo(UsersSignInResultAdditionalUserInfoAlways, total=False):
    """Further facts about the sign-in."""
    username: str
    profile: Dict[str, Any]


class UsersSignInResultAlways(TypedDict):
    user: User
    additionalUserInfo: UsersSignInResultAdditionalUserInfo


class UsersSignInResult(UsersSignInResultAlways, total=False):
    flow: str
    credential: Credential


class UsersLinkParams(TypedDict, total=False):
    """Adds a way to sign in to the current user: the identity of a proof, or a first password."""
    provider: str
    account: str
    credential: Union[Oauth1VerifyParamsCredential, Oauth2VerifyParamsCredential, IdTokenVerifyParamsCredential]
    pendingCredential: str
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    deadlineSeconds: int
    scopes: List[str]
    customParameters: Dict[str, str]
    page: SignInPage
    server: OwnServer
    includeCredential: bool
    email: str
    password: str
    user: str


UsersLinkResult = UsersSignInResult


class UsersReauthenticateParams(TypedDict, total=False):
    """Proves that the person is the current user, for the changes that need a recent sign-in."""
    provider: str
    credential: Union[Oauth1VerifyParamsCredential, Oauth2VerifyParamsCredential, IdTokenVerifyParamsCredential]
    pendingCredential: str
    flowKind: Literal[
        "reverseAuth", "systemToken", "authorizationCode", "deviceCode", "oauth1", "clientCredentials", "jwtBearer",
        "tokenExchange", "passwordSession"
    ]
    deadlineSeconds: int
    scopes: List[str]
    customParameters: Dict[str, str]
    page: SignInPage
    server: OwnServer
    includeCredential: bool
    password: str


UsersReauthenticateResult = UsersSignInResult


class UsersCreateParamsAlways(TypedDict):
    email: str
    password: str


class UsersCreateParams(UsersCreateParamsAlways, total=False):
    """Makes a user with an e-mail address and a password, and signs the user in."""
    displayName: str
    photo: str


class UsersCreateResult(TypedDict):
    user: User
    additionalUserInfo: UsersSignInResultAdditionalUserInfo


class UsersSignInWithPasswordParams(TypedDict):
    """Signs in the user with this e-mail address and password."""
    email: str
    password: str


UsersSignInWithPasswordResult = UsersCreateResult


class UsersUpdateParams(TypedDict, total=False):
    """Changes the profile, the e-mail address or the password of the current user."""
    displayName: str
    photo: str
    email: str
    password: str
    user: str


class UsersUpdateResult(TypedDict):
    user: User


UsersCurrentParams = ShutdownParams


class UsersCurrentResult(TypedDict, total=False):
    user: User


class UsersListParams(TypedDict, total=False):
    """The users of the application's directory, in order of making."""
    everyDirectory: bool
    limit: int
    cursor: str


class UsersListResultAlways(TypedDict):
    users: List[User]


class UsersListResult(UsersListResultAlways, total=False):
    nextCursor: str


class UsersProvidersForEmailParams(TypedDict):
    """The providers by which the user with an e-mail address signs in, to be shown after 17012."""
    email: str


class UsersProvidersForEmailResult(TypedDict):
    providers: List[str]


class UsersUnlinkParamsAlways(TypedDict):
    provider: str


class UsersUnlinkParams(UsersUnlinkParamsAlways, total=False):
    """Removes a way to sign in from the current user."""
    evenTheLast: bool
    user: str


UsersUnlinkResult = UsersUpdateResult


UsersSignOutParams = ShutdownParams


UsersSignOutResult = ShutdownResult


class UsersDeleteParams(TypedDict, total=False):
    """Removes the current user from the directory; the accounts stay."""
    user: str


UsersDeleteResult = ShutdownResult


class StoreAddKeySlotParams(TypedDict):
    """Adds a way to open the key, in place of one of the same kind; the key stays the same."""
    kind: Literal["keyfile", "passphrase", "secretservice", "command"]


class StoreAddKeySlotResult(TypedDict):
    slots: List[str]


class StoreRemoveKeySlotParams(TypedDict):
    """Removes a way to open the key, never the last one."""
    kind: Literal["keyfile", "passphrase", "secretservice", "command", "fd"]


StoreRemoveKeySlotResult = StoreAddKeySlotResult


class StoreUnlockParams(TypedDict):
    """Lets each program of this user open a store with a passphrase, for a while."""
    seconds: int


class StoreUnlockResult(TypedDict):
    unlockedUntil: int


StoreLockParams = ShutdownParams


class StoreLockResult(TypedDict):
    wasUnlocked: bool


class AuditListParams(TypedDict, total=False):
    """The receivers of credentials, the newest first, never the credential."""
    application: str
    provider: str
    account: str
    method: str
    since: int
    before: int
    limit: int
    cursor: str


class AuditListResultAlways(TypedDict):
    entries: List[AuditEntry]


class AuditListResult(AuditListResultAlways, total=False):
    nextCursor: str


class AuditPruneParams(TypedDict):
    """Removes the entries of the audit trail before a time."""
    before: int


class AuditPruneResult(TypedDict):
    removed: int


class PromptAnswerParamsAlways(TypedDict):
    prompt: str
    action: Literal["accept", "decline", "cancel"]


class PromptAnswerParams(PromptAnswerParamsAlways, total=False):
    """Answers an open prompt."""
    account: str
    redirectURL: str
    text: str
    passphrase: str
    username: str
    password: str
    remember: bool


PromptAnswerResult = ShutdownResult


PromptListParams = ProvidersListParams


class PromptListResultAlways(TypedDict):
    prompts: List[Prompt]


class PromptListResult(PromptListResultAlways, total=False):
    nextCursor: str


NetworkStatusParams = ShutdownParams


class NetworkStatusResult(TypedDict, total=False):
    online: bool


AccountsCheckServerParams = AvatarsGetParams


class AccountsCheckServerResultAlways(TypedDict):
    server: str


class AccountsCheckServerResult(AccountsCheckServerResultAlways, total=False):
    publicKey: str
    fault: Literal["selfSigned", "unknownAuthority", "expired", "notYetValid", "otherHost", "untrusted"]
    certificateEndsAt: int
    expired: bool
    accepted: bool


StoreStatusParams = ShutdownParams


class StoreStatusResultDatabase(TypedDict):
    """The server of a store in PostgreSQL."""
    version: str
    durable: bool
    standby: str
    tls: bool
    pooled: bool
    clockOffset: int


class StoreStatusResultAlways(TypedDict):
    exists: bool
    protection: str
    slots: List[str]
    schema: int
    revision: int
    accounts: int
    databaseBytes: int
    journalBytes: int
    readOnly: bool
    keyUses: int
    memoryLocked: bool
    next: List[NextStep]


class StoreStatusResult(StoreStatusResultAlways, total=False):
    path: str
    unlockedUntil: int
    holder: int
    sqlite: str
    database: StoreStatusResultDatabase


StoreCheckParams = ShutdownParams


class StoreCheckResultFindingsAlways(TypedDict):
    kind: Literal["damage", "orphan", "undecryptable", "bindingMismatch", "keyUnavailable"]
    message: str
    next: List[NextStep]


class StoreCheckResultFindings(StoreCheckResultFindingsAlways, total=False):
    account: str


class StoreCheckResult(TypedDict):
    sound: bool
    accounts: int
    sealedValues: int
    countFindings: int
    findings: List[StoreCheckResultFindings]


class StoreBackupParams(TypedDict):
    """Copies the store while it is in use. The secrets in the copy do not open without one of its key slots."""
    path: str


class StoreBackupResult(TypedDict):
    path: str
    bytes: int
    includesKey: bool


class StoreMoveParams(TypedDict):
    """Moves the store to another file or into a database, and compares the two. The old store gets another name, so
    that no token is used from both."""
    to: str


class StoreMoveResult(TypedDict):
    path: str
    former: str
    rows: int


StoreRotateKeyParams = ShutdownParams


class StoreRotateKeyResult(TypedDict):
    sealedValues: int
    slots: List[str]
    droppedSlots: List[str]


class TestAdvanceClockParams(TypedDict):
    """Moves this process's clock and wakes its timers. Only with --test."""
    seconds: int


TestAdvanceClockResult = ShutdownResult


PromptOpenedParams = Prompt


class PromptClosedParams(TypedDict):
    """A prompt no longer needs an answer."""
    prompt: str
    outcome: Literal["accepted", "declined", "cancelled", "expired", "satisfied"]


class AuthProgressParams(TypedDict):
    """The progress of a flow."""
    flow: str
    stage: Literal[
        "access", "selecting", "awaitingPerson", "discovering", "requesting", "exchanging", "verifying", "saving",
        "awaitingPort", "awaitingSignIn"
    ]


class AuthCompletedParamsAlways(TypedDict):
    flow: str


class AuthCompletedParams(AuthCompletedParamsAlways, total=False):
    """The outcome of a detached flow, exactly once."""
    account: str
    created: bool
    emailVerified: bool
    profile: Dict[str, Any]
    provider: str
    resource: str
    credential: Credential
    error: Error


class AccountsChangedParamsChanges(TypedDict):
    account: str
    change: Literal["added", "removed", "updated", "health"]


class AccountsChangedParamsAlways(TypedDict):
    revision: int
    changes: List[AccountsChangedParamsChanges]


class AccountsChangedParams(AccountsChangedParamsAlways, total=False):
    """Accounts were added, removed or changed."""
    reload: bool


class AccessChangedParamsAlways(TypedDict):
    revision: int


class AccessChangedParams(AccessChangedParamsAlways, total=False):
    """An access decision was made or removed."""
    application: str
    provider: str
    reload: bool


class ProvidersChangedParamsChanges(TypedDict):
    provider: str
    change: Literal["added", "updated", "removed", "configured"]


class ProvidersChangedParamsAlways(TypedDict):
    changes: List[ProvidersChangedParamsChanges]


class ProvidersChangedParams(ProvidersChangedParamsAlways, total=False):
    """Providers were added, replaced, removed, or got another registration."""
    reload: bool


class UsersChangedParamsChanges(TypedDict):
    user: str
    change: Literal["added", "removed", "updated", "signedIn", "signedOut"]


class UsersChangedParamsAlways(TypedDict):
    revision: int
    changes: List[UsersChangedParamsChanges]


class UsersChangedParams(UsersChangedParamsAlways, total=False):
    """Users of the application's directory changed; for capabilities.users alone, first after initialize."""
    reload: bool


class CredentialsRefreshedParamsAlways(TypedDict):
    account: str
    tokenType: str
    scopes: List[str]


class CredentialsRefreshedParams(CredentialsRefreshedParamsAlways, total=False):
    """A new token is in the store; credentials.get has it."""
    expiresAt: int


class CredentialsRefreshFailedParamsAlways(TypedDict):
    account: str
    error: Error


class CredentialsRefreshFailedParams(CredentialsRefreshFailedParamsAlways, total=False):
    """The automatic refresh of a credential has ended; the next credentials.get tries a refresh, and begins it
    again."""
    resource: str


class NetworkChangedParams(TypedDict):
    """The machine went on or offline; for capabilities.network alone."""
    online: bool


class StoreProgressParams(TypedDict):
    """The progress of store.check, store.backup, store.move or store.rotateKey, at most once for each percent."""
    request: Any
    method: str
    done: int
    total: int
