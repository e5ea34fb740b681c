/**
 * The types of the protocol. `protocol/generate` writes this file from protocol/openrpc.json. The parameters of
 * `accounts.list` are `AccountsListParams`, its result is `AccountsListResult`.
 */

export interface AccountRefusals {
  /** The origin of the service that refused the credential. */
  address?: string;
  /** The end of the service's refusal. */
  endsAt?: number;
  /** The protected resource of the credential. */
  resource?: string;
}

export interface NextStep {
  /** The step in English words, for people. */
  label: string;
  /** The request of this protocol that does it. */
  method?: string;
  /** Some parameters of the method. */
  params?: Record<string, unknown>;
  /** A page of the provider, with https. */
  page?: string;
  /** A command of a shell: to show, never to run. */
  command?: string;
}

export interface Account {
  /** An account's id, from accounts.list. */
  account: string;
  /** A provider's id, from providers.list. */
  provider: string;
  /** The user name at the provider. */
  username: string;
  /** The name for people. */
  displayName?: string;
  /** The provider's stable id of the person. */
  subject?: string;
  /** The e-mail address, not verified. */
  email?: string;
  /** The address of a picture, for avatars.get. */
  avatar?: string;
  /**
   * The last answer of the provider; refreshRefused: it has refused a refresh without saying that the refresh
   * token is dead, and a sign-in helps.
   */
  health: "ok" | "reloginNeeded" | "banned" | "locked" | "refreshRefused";
  /** The time of the first failed refresh since the credential was stored, but not of one for a resource. */
  refreshFailsSince?: number;
  /** The end of its refresh token without a resource, where the provider names one: then a sign-in is needed. */
  refreshExpiresAt?: number;
  /** Whether a credential is stored. */
  signedIn: boolean;
  /** Whether this application prefers it. */
  preferred: boolean;
  /**
   * The scopes of its newest token without a resource, if the provider has named them or they were asked for; a
   * change of them alone is no accounts.changed.
   */
  scopes?: string[];
  /** The names of the protected resources that it has credentials for. */
  resources?: string[];
  /**
   * Only of accounts.list: the credentials that are not returned, for a service or, without an address, at all
   * because they were refused and cannot be refreshed.
   */
  refusals?: AccountRefusals[];
  /** Only of accounts.list: the next steps, if the account needs a sign-in or does not work. */
  next?: NextStep[];
  /** The time of adding. */
  addedAt: number;
}

export interface AuditEntry {
  /** The time. */
  at: number;
  /** The application, as it called itself. */
  application: string;
  /** The method of the request. */
  method: string;
  /** The provider of the accounts. */
  provider?: string;
  /** The id of the account. */
  account?: string;
  /** The client id of the registration that it was issued to. */
  clientId?: string;
  /** The type of the credential. */
  credential?: string;
  /** A keyed digest of the token: equal for equal tokens while the store has the same key. */
  tokenDigest?: string;
  /** Further values for the application; refreshToken: allows includeRefreshToken. */
  includes?: "refreshToken"[];
  /** The application of a decision. */
  subject?: string;
  /** The decision; missing after a reset. */
  state?: "granted" | "denied";
  /** The number of entries or accounts. */
  count?: number;
  /** The method, host and path of a signed request. */
  request?: string;
  /** The methods of a door. */
  methods?: string[];
  /** The ids of the accounts of a door. */
  accounts?: string[];
  /** The end of a door. */
  until?: number;
  /** The process of einlass that wrote it. */
  process: number;
  /** The program that started it; empty if unknown. */
  parent: string;
}

export interface Oauth1Credential {
  type: "oauth1";
  /** The provider's id of the person. */
  id?: string;
  /** The full name. */
  name?: string;
  /** The e-mail address, not verified. */
  email?: string;
  /** The address of a picture. */
  avatar?: string;
  /** The person's handle. */
  screenName?: string;
  /** The token. */
  key: string;
  /** The token's secret. */
  secret: string;
}

export interface Oauth2Credential {
  type: "oauth2";
  /** The provider's id of the person. */
  id?: string;
  /** The full name. */
  name?: string;
  /** The e-mail address, not verified. */
  email?: string;
  /** The address of a picture. */
  avatar?: string;
  /** The access token. */
  token: string;
  /** Bearer, or DPoP: bound to a key, and credentials.sign makes its headers. */
  tokenType: string;
  /** The granted scopes. */
  scopes: string[];
  /** The expiry time; missing if unknown. */
  expiresAt?: number;
  /** The id_token of OpenID Connect, which may have ended while the access token is valid. */
  idToken?: string;
  /**
   * current: the id_token came with this access token; former: it came with an earlier one, because a refresh
   * has brought no other.
   */
  idTokenOf?: "current" | "former";
  /** The expiry time of the id_token. */
  idTokenExpiresAt?: number;
  /** Only with includeRefreshToken. */
  refreshToken?: string;
}

export interface SessionCredential {
  type: "session";
  /** The account's id: ada@pbx.example.com:8443. */
  id?: string;
  /** The user name at the server. */
  username: string;
  /** The session's id; missing if cookies hold the session. */
  sessionId?: string;
  /** Further members of the server's answer. */
  values: Record<string, string>;
  /** The cookies of the session, in the format of a Netscape cookie file. */
  cookies?: string;
}

export type Credential = Oauth1Credential | Oauth2Credential | SessionCredential;

/** The words of the provider, cleaned. */
export interface ErrorDataServerError {
  /** The status of HTTP. */
  status?: number;
  /** The code of the provider. */
  code?: string;
  /** The second code of the provider. */
  subcode?: string;
  /** The words of the provider, of at most 200 characters. */
  text?: string;
}

export interface NeededPrompt {
  /** The kind of prompt. */
  kind:
    | "grantAccess"
    | "selectAccount"
    | "confirmAccount"
    | "replaceAccount"
    | "openURL"
    | "deviceCode"
    | "enterVerifier"
    | "enterPassphrase"
    | "enterPassword"
    | "trustCertificate";
  /** The parameter that answers it in advance; server.trustedPublicKey is a member of server. */
  parameter?: string;
  /** The method that answers it in advance. */
  method?: string;
  /** The option of einlass that answers it in advance. */
  option?: string;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt?: number;
  /** The offered accounts. */
  accounts?: Account[];
  /** true: any other account of the provider is a valid answer too. */
  more?: boolean;
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
  /** Further values for the application; refreshToken: allows includeRefreshToken. */
  includes?: "refreshToken"[];
  /** The page for the person's browser. */
  url?: string;
  /** The host of the page, to be shown. */
  host?: string;
  /** The page for the code. */
  verificationUri?: string;
  /** The same with the code in it. */
  verificationUriComplete?: string;
  /** The code to enter there. */
  userCode?: string;
  /**
   * The redirect address: the front end intercepts it, or asks the person to paste it, and answers with
   * redirectURL.
   */
  returningTo?: string;
  /** The kind of text to enter. */
  expects?: "redirectURL" | "pin";
  /** The permissions beyond an existing grant. */
  added?: string[];
  /** true: the sign-in grants the application access to the account. */
  grantsAccess?: boolean;
  /** The origin that gets the password. */
  server?: string;
  /** false: others on the way can read the password. */
  secure?: boolean;
  /** The port of the server. */
  port?: number;
  /** The public key of the certificate: sha256// and base64. */
  publicKey?: string;
  /** The reason why the certificate is not trusted; missing for a trusted one. */
  fault?: "selfSigned" | "unknownAuthority" | "expired" | "notYetValid" | "otherHost" | "untrusted";
  /** The end of the certificate's validity. */
  certificateEndsAt?: number;
  /** The accepted public key that has changed. */
  formerPublicKey?: string;
  /** The user name to use; the person enters it when missing. */
  username?: string;
  /** The purpose of the passphrase. */
  purpose?: "keySlot" | "export" | "import";
  /** The file of the passphrase. */
  path?: string;
  /** true: the passphrase is chosen now, so have it entered twice. */
  new?: boolean;
  /** true: the entry before did not fit, or the server refused it. */
  again?: boolean;
  /** The password may be kept for new sessions without the person. */
  mayRemember?: boolean;
}

export interface Identity {
  /** The provider's id of the person. */
  id: string;
  /** The full name. */
  name?: string;
  /** The user name at the provider. */
  username?: string;
  /** The e-mail address, not verified. */
  email?: string;
  /** The address of a picture. */
  avatar?: string;
}

/** The data for programs. */
export interface ErrorData {
  /** The stable name of the error. */
  reason:
    | "invalidJSON"
    | "invalidUTF8"
    | "lineTooLong"
    | "tooDeep"
    | "invalidHeader"
    | "invalidRequest"
    | "invalidId"
    | "duplicateKey"
    | "duplicateId"
    | "emptyBatch"
    | "batchTooLarge"
    | "notBatchable"
    | "alreadyInitialized"
    | "shuttingDown"
    | "unknownMethod"
    | "invalidParams"
    | "positionalParams"
    | "unsupportedVersion"
    | "invalidCursor"
    | "internal"
    | "cancelled"
    | "overloaded"
    | "noSystemAccount"
    | "accessNotGranted"
    | "userCanceledAccountSelection"
    | "accountBanned"
    | "reloginNeeded"
    | "notIssuedToThisClient"
    | "authenticatorUnconfigured"
    | "networkFailure"
    | "providerFailure"
    | "accountStoreFailure"
    | "interactionRequired"
    | "userCanceled"
    | "accessDenied"
    | "stateMismatch"
    | "flowExpired"
    | "flowNotSupported"
    | "wrongCredentials"
    | "throttled"
    | "tokenNotSaved"
    | "verificationFailed"
    | "unknownProvider"
    | "unknownAccount"
    | "unknownFlow"
    | "unknownPrompt"
    | "promptAlreadyAnswered"
    | "invalidChoice"
    | "reservedParameter"
    | "bindingMismatch"
    | "unsafeURL"
    | "accountExists"
    | "invalidCredential"
    | "emailAlreadyInUse"
    | "invalidEmail"
    | "wrongPassword"
    | "tooManyRequests"
    | "userNotFound"
    | "accountExistsWithDifferentCredential"
    | "requiresRecentLogin"
    | "providerAlreadyLinked"
    | "noSuchProvider"
    | "userMismatch"
    | "credentialAlreadyInUse"
    | "weakPassword"
    | "missingEmail"
    | "nullUser";
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** The case within a reason. */
  detail?: string;
  /** The next steps, the most useful one first. */
  next: NextStep[];
  /** True with an empty next, because nothing helps. */
  final?: boolean;
  /** The provider. */
  provider?: string;
  /** The account. */
  account?: string;
  /** The flow that has failed. */
  flow?: string;
  /** The parameter as a JSON Pointer, or the file. */
  path?: string;
  /** invalidParams, invalidHeader: the expected value. */
  expected?: string;
  /** unsupportedVersion: the known versions. */
  supported?: number[];
  /** unknownMethod: the method of the request. */
  method?: string;
  /** cancelled: the cause; client means $/cancelRequest, shutdown also exit, a signal and the end of processId. */
  by?: "client" | "authCancel" | "endOfInput" | "shutdown";
  /** accountStoreFailure: the id of the process that keeps the store locked. */
  holder?: number;
  /**
   * networkFailure: a number of NSURLErrorDomain; -1205: the server refused the client's certificate, -1206: it
   * demands one.
   */
  networkCode?: number;
  /** throttled, tooManyRequests: the time to wait. */
  retryAfterSeconds?: number;
  /** The words of the provider, cleaned. */
  serverError?: ErrorDataServerError;
  /** interactionRequired: the prompts, each with the way to answer it in advance. */
  prompts?: NeededPrompt[];
  /** The outcome of a closed prompt. */
  outcome?: "accepted" | "declined" | "cancelled" | "expired" | "satisfied";
  /** flowNotSupported with the detail applicationUnknown: the person of the token, as in the result of verify. */
  identity?: Identity;
  /** The address of the other user. */
  email?: string;
  /** The ways to sign in as the other user. */
  providers?: string[];
  /** The name of the proven identity, for users.link and users.signIn. */
  pendingCredential?: string;
}

export interface Error {
  /** The number of the reason. */
  code: number;
  /** For people; it may change at any time. */
  message: string;
  /** The data for programs. */
  data: ErrorData;
}

export interface Grant {
  /** The application of the decision. */
  application: string;
  /** A provider's id, from providers.list. */
  provider: string;
  /** The decision of the person. */
  state: "granted" | "denied";
  /** The only accounts that the decision is for; missing for all accounts of the provider. */
  accounts?: string[];
  /** The granted permissions. */
  permissions: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
  /** Further values for the application; refreshToken: allows includeRefreshToken. */
  includes?: "refreshToken"[];
  /** The application, for people, as it was shown when they decided. */
  applicationTitle?: string;
  /** The time of the decision. */
  changedAt: number;
}

export interface OwnServer {
  /** The host name or the address; without it and without account, a sign-in takes the server of settings.get. */
  host?: string;
  /** With host: the port; the provider's usual one when missing. */
  port?: number;
  /** With host: whether to use https; false sends the password by plain http, readable on the way. */
  secure?: boolean;
  /** The user name; the person enters it when missing. */
  username?: string;
  /** Whether to keep the cookies of the session, if the provider leaves it open. */
  useCookies?: boolean;
  /** true asks the person about a certificate that is not trusted, by trustCertificate. */
  acceptUntrustedCertificates?: boolean;
  /**
   * The public key to accept without a question, sha256// and the SHA-256 digest of the SubjectPublicKeyInfo in
   * base64; refused for plain http.
   */
  trustedPublicKey?: string;
  /** The absolute path of a PEM file with the authorities of this server; takes the place of an accepted key. */
  caFile?: string;
}

export interface Problem {
  /** The code of the error. */
  code: number;
  /** The reason of the error. */
  reason:
    | "invalidJSON"
    | "invalidUTF8"
    | "lineTooLong"
    | "tooDeep"
    | "invalidHeader"
    | "invalidRequest"
    | "invalidId"
    | "duplicateKey"
    | "duplicateId"
    | "emptyBatch"
    | "batchTooLarge"
    | "notBatchable"
    | "alreadyInitialized"
    | "shuttingDown"
    | "unknownMethod"
    | "invalidParams"
    | "positionalParams"
    | "unsupportedVersion"
    | "invalidCursor"
    | "internal"
    | "cancelled"
    | "overloaded"
    | "noSystemAccount"
    | "accessNotGranted"
    | "userCanceledAccountSelection"
    | "accountBanned"
    | "reloginNeeded"
    | "notIssuedToThisClient"
    | "authenticatorUnconfigured"
    | "networkFailure"
    | "providerFailure"
    | "accountStoreFailure"
    | "interactionRequired"
    | "userCanceled"
    | "accessDenied"
    | "stateMismatch"
    | "flowExpired"
    | "flowNotSupported"
    | "wrongCredentials"
    | "throttled"
    | "tokenNotSaved"
    | "verificationFailed"
    | "unknownProvider"
    | "unknownAccount"
    | "unknownFlow"
    | "unknownPrompt"
    | "promptAlreadyAnswered"
    | "invalidChoice"
    | "reservedParameter"
    | "bindingMismatch"
    | "unsafeURL"
    | "accountExists"
    | "invalidCredential"
    | "emailAlreadyInUse"
    | "invalidEmail"
    | "wrongPassword"
    | "tooManyRequests"
    | "userNotFound"
    | "accountExistsWithDifferentCredential"
    | "requiresRecentLogin"
    | "providerAlreadyLinked"
    | "noSuchProvider"
    | "userMismatch"
    | "credentialAlreadyInUse"
    | "weakPassword"
    | "missingEmail"
    | "nullUser";
  /** The detail of the error. */
  detail?: string;
  /** The file. */
  path?: string;
  /** For people. */
  message: string;
  /** The next steps, the most useful one first. */
  next: NextStep[];
  /** True with an empty next, because nothing helps. */
  final?: boolean;
}

/** A page to open. */
export interface PromptFormPage {
  /** The page for the person's browser. */
  url: string;
  /** Its host, to be shown. */
  host: string;
}

export interface PromptFormChoices {
  /** The name of the choice. */
  label: string;
  /** More about it, in small print. */
  detail?: string;
  /** The parameters of prompt.answer for it. */
  answer: Record<string, unknown>;
}

export interface PromptFormFields {
  /** The parameter of prompt.answer. */
  name: string;
  /** The label of the field. */
  label: string;
  /** The kind of field. */
  type: "text" | "secret" | "flag";
  /** Whether it is entered twice, because it is chosen now. */
  twice?: boolean;
}

export interface PromptFormButtons {
  /** The action of prompt.answer. */
  action: string;
  /** The label of the button. */
  label: string;
  /** Whether the Enter key presses it. */
  default?: boolean;
}

export interface PromptForm {
  /** The question in one sentence. */
  title: string;
  /** Paragraphs below it. */
  text?: string[];
  /** A text that must not be overlooked. */
  warning?: string;
  /** A page to open. */
  page?: PromptFormPage;
  /** A code to enter there. */
  code?: string;
  /** The answers to choose from. */
  choices?: PromptFormChoices[];
  /** The parameters to enter, which go with the button accept. */
  fields?: PromptFormFields[];
  /** The buttons. */
  buttons: PromptFormButtons[];
}

export interface GrantAccessPrompt {
  kind: "grantAccess";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The permissions of the application. */
  permissions: string[];
  /** The permissions beyond an existing grant. */
  added: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
  /** Further values for the application; refreshToken: allows includeRefreshToken. */
  includes?: "refreshToken"[];
}

export interface SelectAccountPrompt {
  kind: "selectAccount";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The offered accounts. */
  accounts: Account[];
  /** true: any other account of the provider is a valid answer too. */
  more?: boolean;
}

export interface ConfirmAccountPrompt {
  kind: "confirmAccount";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The offered accounts. */
  accounts: Account[];
}

export interface ReplaceAccountPrompt {
  kind: "replaceAccount";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The offered accounts. */
  accounts: Account[];
  /** true: any other account of the provider is a valid answer too. */
  more?: boolean;
}

export interface OpenURLPrompt {
  kind: "openURL";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The page for the person's browser. */
  url: string;
  /** The host of the page, to be shown. */
  host: string;
  /**
   * The redirect address: the front end intercepts it, or asks the person to paste it, and answers with
   * redirectURL.
   */
  returningTo?: string;
  /** true: the sign-in grants the application access to the account. */
  grantsAccess?: boolean;
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
}

export interface DeviceCodePrompt {
  kind: "deviceCode";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The page for the code. */
  verificationUri: string;
  /** The host of the page, to be shown. */
  host: string;
  /** The code to enter there. */
  userCode: string;
  /** The same with the code in it. */
  verificationUriComplete?: string;
  /** true: the sign-in grants the application access to the account. */
  grantsAccess?: boolean;
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
}

export interface EnterVerifierPrompt {
  kind: "enterVerifier";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The kind of text to enter. */
  expects: "redirectURL" | "pin";
  /** true: the entry before did not fit, or the server refused it. */
  again?: boolean;
  /**
   * The redirect address: the front end intercepts it, or asks the person to paste it, and answers with
   * redirectURL.
   */
  returningTo?: string;
  /** true: the sign-in grants the application access to the account. */
  grantsAccess?: boolean;
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
}

export interface EnterPassphrasePrompt {
  kind: "enterPassphrase";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The purpose of the passphrase. */
  purpose: "keySlot" | "export" | "import";
  /** The file of the passphrase. */
  path?: string;
  /** true: the passphrase is chosen now, so have it entered twice. */
  new?: boolean;
  /** true: the entry before did not fit, or the server refused it. */
  again?: boolean;
}

export interface EnterPasswordPrompt {
  kind: "enterPassword";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The origin that gets the password. */
  server: string;
  /** The host of the page, to be shown. */
  host: string;
  /** The user name to use; the person enters it when missing. */
  username?: string;
  /** true: the entry before did not fit, or the server refused it. */
  again?: boolean;
  /** The password may be kept for new sessions without the person. */
  mayRemember?: boolean;
  /** false: others on the way can read the password. */
  secure?: boolean;
  /** true: the sign-in grants the application access to the account. */
  grantsAccess?: boolean;
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
}

export interface TrustCertificatePrompt {
  kind: "trustCertificate";
  /** The prompt's id. */
  prompt: string;
  /** The flows that wait for it. */
  flows: string[];
  /** The ids of the requests that wait for it. */
  requests?: unknown[];
  /** The requesting application. */
  application: string;
  /** The requesting application, for people. */
  applicationTitle?: string;
  /** The provider of the accounts; missing for a passphrase that no flow needs. */
  provider?: string;
  /** The provider, for people. */
  providerName?: string;
  /** The protected resource that a sign-in is for. */
  resource?: string;
  /** The prompt as a form, which any front end can draw. */
  show: PromptForm;
  /** The time at which the last waiting request gives up; for deviceCode, the end of the code. */
  expiresAt: number;
  /** The origin that gets the password. */
  server: string;
  /** The host of the page, to be shown. */
  host: string;
  /** The port of the server. */
  port: number;
  /** The public key of the certificate: sha256// and base64. */
  publicKey: string;
  /** The end of the certificate's validity. */
  certificateEndsAt: number;
  /** The reason why the certificate is not trusted; missing for a trusted one. */
  fault?: "selfSigned" | "unknownAuthority" | "expired" | "notYetValid" | "otherHost" | "untrusted";
  /** The accepted public key that has changed. */
  formerPublicKey?: string;
}

export type Prompt =
  | GrantAccessPrompt
  | SelectAccountPrompt
  | ConfirmAccountPrompt
  | ReplaceAccountPrompt
  | OpenURLPrompt
  | DeviceCodePrompt
  | EnterVerifierPrompt
  | EnterPassphrasePrompt
  | EnterPasswordPrompt
  | TrustCertificatePrompt;

export interface ProviderHosts {
  /** The name, with the port and the folder if it has them. */
  host: string;
  /** The user name to send with the token, if the service needs one; * if it takes any. */
  username?: string;
  /** The form of the token over HTTP: a bearer token, or the password of a user name. */
  scheme: "basic" | "bearer";
}

/** The abilities of the provider. */
export interface ProviderCan {
  /** Whether it works. */
  reverseAuth: boolean;
  /** Whether it works. */
  refresh: boolean;
  /** Whether it works. */
  email: boolean;
  /** Whether it works. */
  revoke: boolean;
  /** Whether it works. */
  verify: boolean;
}

/** The instructions for a registration. */
export interface ProviderSetup {
  /** The page with instructions to register. */
  documentation: string;
  /** The required parts of a registration. */
  needs: ("clientId" | "clientSecret" | "privateKey" | "certificate" | "redirect")[];
  /** The parts with which verify checks a token by value; absent if no request does. */
  verifyNeeds?: ("clientId" | "clientSecret" | "privateKey" | "certificate" | "redirect")[];
  /** The page with the form. */
  form?: string;
  /** What to do there, in this order. */
  steps?: string[];
  /** The redirect address to register. */
  redirect?: string;
  /** The money that the provider wants. */
  costs?: string;
  /** The application that the provider wants first. */
  approval?: string;
  /** What ends by itself later, although it works at first. */
  ends?: string;
  /** Further requirements. */
  notes?: string;
}

export interface Provider {
  /** The id. */
  id: string;
  /** The name for people. */
  name: string;
  /** Other ids that parameters may name; results name the id. */
  aliases?: string[];
  /** The page of the service for people. */
  homepage?: string;
  /**
   * The server that server.host of accounts.signIn may replace by another; in braces a part that has to be
   * named.
   */
  server?: string;
  /** The kinds of flow in order of preference. */
  flowKinds:
    | ("reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession")[];
  /** Whether there is a registration, the caller's or a stored one. */
  configured: boolean;
  /** The kinds of flow with a registration of their own. */
  registeredFlows?:
    | ("reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession")[];
  /**
   * The fault of the registration, or with the detail selfRegistration the provider's last refusal to register
   * the application.
   */
  problem?: Problem;
  /** True for a provider of providers.add; providers.remove removes it. */
  added?: boolean;
  /** The hosts that take its tokens, besides the origins of its own requests. */
  hosts?: ProviderHosts[];
  /**
   * Short names for lists of scopes, which scopes of requests may have; an empty list stands for the usual
   * scopes.
   */
  scopeNames?: Record<string, string[]>;
  /** The scopes that a wider scope contains; a token with it lacks none of them. */
  scopeContents?: Record<string, string[]>;
  /** Whether its only account is confirmed instead of selected. */
  oneAccount: boolean;
  /** Whether it is no longer in service; such a provider is last in the list, and belongs in no menu. */
  retired: boolean;
  /** The abilities of the provider. */
  can: ProviderCan;
  /** The instructions for a registration. */
  setup: ProviderSetup;
}

export interface SignInPage {
  /** The expected person: an address or a name. */
  loginHint?: string;
  /** login, consent, select_account or none, as in OpenID Connect. */
  prompt?: string;
  /** The largest age of the person's sign-in at the provider. */
  maxAgeSeconds?: number;
  /** Requested authentication context classes (acr), preferred first. */
  acrValues?: string;
  /** The wanted claims (OpenID Connect Core 1.0, section 5.5). */
  claims?: Record<string, unknown>;
}

export interface UserIdentities {
  /** The provider's id, or password. */
  provider: string;
  /** The provider's id of the person. */
  subject: string;
  /** The address at the provider. */
  email?: string;
  /** The account in this store, while it exists. */
  account?: string;
}

export interface User {
  /** The user's id. */
  user: string;
  /** The application that made the user. */
  application: string;
  /** The name for people. */
  displayName?: string;
  /** The e-mail address. */
  email?: string;
  /** Whether a provider of the catalogue has verified the address. */
  emailVerified: boolean;
  /** The address of a picture. */
  photo?: string;
  /** The ways to sign in as the user. */
  identities: UserIdentities[];
  /** The time of the first sign-in. */
  createdAt: number;
  /** The time of the last sign-in. */
  lastSignInAt?: number;
}

/** Cancels the running requests, answers every request, and ends; later requests are refused. */
export interface ShutdownParams {
}

export interface ShutdownResult {
}

export type ExitParams = ShutdownParams;

/** A notification: the request with this id is still answered, with -32800. */
export interface CancelRequestParams {
  /** The id of a request that is not answered yet. */
  id: unknown;
}

/** The front end. */
export interface InitializeParamsClient {
  /** The application that access is granted to. */
  name: string;
  /** Its name for people. */
  title?: string;
  /** Its version. */
  version?: string;
}

/** The abilities of the front end. */
export interface InitializeParamsCapabilities {
  /** The kinds of prompt that the front end can show; any: every kind. */
  prompts?: string[];
  /** false: no notifications of changes, for a process that ends at once. */
  changes?: boolean;
  /** true: network.changed when the machine goes on or offline. */
  network?: boolean;
  /** true: users.changed at once, and when a user of the application's directory changes. */
  users?: boolean;
}

export interface InitializeParamsApplications {
  /** Consumer key, application id. */
  clientId: string;
  /** Consumer secret, application secret. */
  clientSecret?: string;
  /** A private key as PEM text, to sign with or of the certificate. */
  privateKey?: string;
  /** The client authentication, if the provider leaves several (RFC 7591, section 2). */
  authentication?:
    | "none"
    | "client_secret_basic"
    | "client_secret_basic_plain"
    | "client_secret_basic_empty"
    | "client_secret_post"
    | "client_secret_jwt"
    | "private_key_jwt"
    | "client_secret_signed"
    | "tls_client_auth"
    | "self_signed_tls_client_auth";
  /** The key id (kid) of the private key at the provider. */
  keyId?: string;
  /** The redirect address, if another one than the default is registered. */
  redirect?: string;
  /** The client's certificate as PEM text, for mutual TLS with privateKey (RFC 8705). */
  certificate?: string;
  /** Whether tokens are to be bound to a key (RFC 9449). */
  dpop?: boolean;
  /** The algorithm of id_tokens that the client registered for. */
  idTokenAlgorithm?:
    | "RS256"
    | "RS384"
    | "RS512"
    | "PS256"
    | "PS384"
    | "PS512"
    | "ES256"
    | "ES384"
    | "ES512"
    | "EdDSA"
    | "HS256";
  /** The audience of client assertions, if the server takes only this one. */
  assertionAudience?: "endpoint" | "issuer";
  /** omit leaves out the parameter resource, for providers that refuse it (RFC 8707). */
  resourceParameter?: "omit";
  /** The team in whose name the private key signs a client secret (client_secret_signed). */
  teamId?: string;
}

/** Introduces the front end. Optional; allowed only as the first request. Never opens the key. */
export interface InitializeParams {
  /** The newest version that the front end speaks; 1. */
  protocolVersion?: number;
  /** The front end. */
  client: InitializeParamsClient;
  /** einlass ends when this process ends. */
  processId?: number;
  /** The abilities of the front end. */
  capabilities?: InitializeParamsCapabilities;
  /** The front end's own registrations, by provider; never stored and never logged. */
  applications?: Record<string, InitializeParamsApplications>;
  /** The person's language, for the pages of providers: a language tag such as de or pt-BR (RFC 5646). */
  locale?: string;
}

/** The name and the version of this program. */
export interface InitializeResultServer {
  /** The name. */
  name: string;
  /** The version. */
  version: string;
}

/** The abilities of this process. */
export interface InitializeResultCapabilities {
  /** The methods of this process. */
  methods: string[];
  /** The notifications of this process. */
  notifications: string[];
  /** The kinds of prompt. */
  prompts:
    | ("grantAccess"
    | "selectAccount"
    | "confirmAccount"
    | "replaceAccount"
    | "openURL"
    | "deviceCode"
    | "enterVerifier"
    | "enterPassphrase"
    | "enterPassword"
    | "trustCertificate")[];
  /** Whether changes by other processes are announced. */
  changes: boolean;
  /** Whether network.changed is sent. */
  network: boolean;
}

/** The capabilities of the front end in effect; unknown names and kinds are missing. */
export interface InitializeResultUnderstood {
  /** The kinds of prompt that the front end can show; any: every kind. */
  prompts: string[];
  /** false: no notifications of changes, for a process that ends at once. */
  changes: boolean;
  /** true: network.changed when the machine goes on or offline. */
  network: boolean;
  /** true: users.changed at once, and when a user of the application's directory changes. */
  users: boolean;
}

/** The limits of the protocol, in bytes and counts. */
export interface InitializeResultLimits {
  /** The longest message to einlass in bytes; a longer one is skipped, and answered with lineTooLong. */
  inboundLineBytes: number;
  /**
   * The longest message from einlass in bytes, except rpc.discover and answers to batches; lists have a
   * nextCursor.
   */
  outboundLineBytes: number;
  /** The depth of nested arrays and objects; a deeper message is answered with tooDeep. */
  nesting: number;
  /** The longest id in bytes; a longer one is answered with invalidId. */
  idBytes: number;
  /** The entries of a batch; a longer one is answered with batchTooLarge. */
  batchEntries: number;
  /** The requests that wait; another one is overloaded. */
  queuedRequests: number;
  /** Interactive requests and detached flows at once; another one is overloaded. */
  runningFlows: number;
}

/** The protection and the revision of the store, or the problem with it. */
export interface InitializeResultStore {
  /** As in store.status; missing with a problem. */
  protection?: string;
  /** The revision; missing with a problem. */
  revision?: number;
  /** The reason why the store cannot be used. */
  problem?: Problem;
}

/** The fault of the configuration file, or of a provider file, that cannot be used. */
export interface InitializeResultConfiguration {
  /** The problem. */
  problem: Problem;
}

export interface InitializeResultLeftOut {
  /** Its id. */
  provider?: string;
  /** The problem with it. */
  message: string;
  /** The next steps. */
  next: NextStep[];
}

export interface InitializeResult {
  /** The version in use from now on. */
  protocolVersion: number;
  /** The name and the version of this program. */
  server: InitializeResultServer;
  /** The abilities of this process. */
  capabilities: InitializeResultCapabilities;
  /** The capabilities of the front end in effect; unknown names and kinds are missing. */
  understood: InitializeResultUnderstood;
  /** The limits of the protocol, in bytes and counts. */
  limits: InitializeResultLimits;
  /** The protection and the revision of the store, or the problem with it. */
  store: InitializeResultStore;
  /** The fault of the configuration file, or of a provider file, that cannot be used. */
  configuration?: InitializeResultConfiguration;
  /** The first 50 added providers that cannot be read. */
  leftOut?: InitializeResultLeftOut[];
}

export type RpcDiscoverParams = ShutdownParams;

export type RpcDiscoverResult = unknown;

/** The built-in providers and the added ones, with their abilities and setup; retired ones come last. */
export interface ProvidersListParams {
  /** The largest number of entries. */
  limit?: number;
  /** The start of the page: nextCursor of the previous page. */
  cursor?: string;
}

export interface ProvidersListResult {
  /** The providers. */
  providers: Provider[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

/** Adds a provider that describes itself (OpenID Connect Discovery, RFC 8414), or one by a descriptor. */
export interface ProvidersAddParams {
  /** The https address of an OpenID Connect or OAuth issuer, exactly as in its metadata. */
  issuer?: string;
  /** A descriptor in the form of the built-in catalogue. */
  descriptor?: unknown;
  /** With issuer: the id; without it made of the host, and of more if another issuer has that host. */
  id?: string;
  /** With issuer: the name for people. */
  name?: string;
}

export interface ProvidersAddResult {
  /** A provider's id, from providers.list. */
  provider: string;
  /** false: an added provider with that id was replaced. */
  created: boolean;
  /** The members of the issuer's metadata that cannot be read and count as absent, if any. */
  ignored?: string[];
}

/**
 * Removes an added provider and its stored registration; its accounts stay, and serve again when it is added
 * again.
 */
export interface ProvidersRemoveParams {
  /** A provider's id, from providers.list. */
  provider: string;
}

export interface ProvidersRemoveResult {
  /** Whether a stored registration was removed. */
  registration: boolean;
}

/** Stores the person's own registration at a provider, sealed, for each application without one. */
export interface ProvidersConfigureParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The only flow that uses the registration; without it every flow without one of its own. */
  flowKind?:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** Consumer key, application id. */
  clientId?: string;
  /** true forgets the registration; no part of a registration is allowed then. */
  remove?: boolean;
  /** Consumer secret, application secret. */
  clientSecret?: string;
  /** A private key as PEM text, to sign with or of the certificate. */
  privateKey?: string;
  /** The client authentication, if the provider leaves several (RFC 7591, section 2). */
  authentication?:
    | "none"
    | "client_secret_basic"
    | "client_secret_basic_plain"
    | "client_secret_basic_empty"
    | "client_secret_post"
    | "client_secret_jwt"
    | "private_key_jwt"
    | "client_secret_signed"
    | "tls_client_auth"
    | "self_signed_tls_client_auth";
  /** The key id (kid) of the private key at the provider. */
  keyId?: string;
  /** The redirect address, if another one than the default is registered. */
  redirect?: string;
  /** The client's certificate as PEM text, for mutual TLS with privateKey (RFC 8705). */
  certificate?: string;
  /** Whether tokens are to be bound to a key (RFC 9449). */
  dpop?: boolean;
  /** The algorithm of id_tokens that the client registered for. */
  idTokenAlgorithm?:
    | "RS256"
    | "RS384"
    | "RS512"
    | "PS256"
    | "PS384"
    | "PS512"
    | "ES256"
    | "ES384"
    | "ES512"
    | "EdDSA"
    | "HS256";
  /** The audience of client assertions, if the server takes only this one. */
  assertionAudience?: "endpoint" | "issuer";
  /** omit leaves out the parameter resource, for providers that refuse it (RFC 8707). */
  resourceParameter?: "omit";
  /** The team in whose name the private key signs a client secret (client_secret_signed). */
  teamId?: string;
}

export interface ProvidersConfigureResult {
  /** Whether a registration exists now, from any source. */
  configured: boolean;
  /** The store's revision; grows with every change. */
  revision: number;
}

/** The stored accounts in order of adding. Opens no key and shows no prompt. */
export interface AccountsListParams {
  /** Only those of this provider. */
  provider?: string;
  /** The largest number of entries. */
  limit?: number;
  /** The start of the page: nextCursor of the previous page. */
  cursor?: string;
}

export interface AccountsListResult {
  /** The store's revision; grows with every change. */
  revision: number;
  /** The accounts. */
  accounts: Account[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

export interface Oauth1AccountsAddParamsCredential {
  type: "oauth1";
  /** The account's token. */
  key: string;
  /** The token's secret. */
  secret: string;
  /** The consumer under which the token was issued. */
  clientId: string;
  /** That consumer's secret. */
  clientSecret: string;
}

export interface Oauth2AccountsAddParamsCredential {
  type: "oauth2";
  /** The access token. */
  token: string;
  /** Its refresh token. */
  refreshToken?: string;
  /** The expiry time. */
  expiresAt?: number;
  /** The scopes of the token. */
  scopes?: string[];
  /** The client id of the registration that it was issued to. */
  clientId: string;
}

/** Stores an account with a credential that the front end brings; every secret is sealed. */
export interface AccountsAddParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The user name at the provider. */
  username: string;
  /** The name for people. */
  displayName?: string;
  /** The provider's stable id of the person. */
  subject?: string;
  /** The account's own credential. */
  credential: Oauth1AccountsAddParamsCredential | Oauth2AccountsAddParamsCredential;
  /** Overwrite the existing account and its credential of this client id. */
  replace?: boolean;
}

export interface AccountsAddResult {
  /** An account's id, from accounts.list. */
  account: string;
  /** false: an account was replaced. */
  created: boolean;
  /** The store's revision; grows with every change. */
  revision: number;
}

/**
 * Signs a person in at a provider or for a protected resource: adds an account, or signs in to an existing one
 * again.
 */
export interface AccountsSignInParams {
  /** A provider's id, from providers.list. */
  provider?: string;
  /** Instead of provider: the address of a protected resource; its metadata names the provider. */
  resource?: string;
  /** With resource: the WWW-Authenticate header of its answer. */
  challenge?: string;
  /** With resource and without challenge: sends the resource one request without a token for its challenge. */
  probe?: boolean;
  /** The account to sign in to; the sign-in of another person fails. */
  account?: string;
  /** The only allowed kind of flow; without it the provider's first one whose prompts the front end can show. */
  flowKind?:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** With the flowKind jwtBearer or tokenExchange: the account with the id_token that is traded. */
  assertionFrom?: string;
  /** true: answers at once with the flow alone, and auth.completed reports the outcome. */
  detached?: boolean;
  /** The time limit for the person in seconds. */
  deadlineSeconds?: number;
  /** The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them. */
  scopes?: string[];
  /** Further parameters for the provider's page or the request for a device code, passed on unchanged. */
  customParameters?: Record<string, string>;
  /** The request to the provider's page, in the words of OpenID Connect. */
  page?: SignInPage;
  /** The person's own server: for passwordSession, and in accounts.signIn its host for a provider with server. */
  server?: OwnServer;
}

export interface AccountsSignInResult {
  /** The flow's id. */
  flow: string;
  /** The account's id; missing when detached. */
  account?: string;
  /** false: the account was there; missing when detached. */
  created?: boolean;
  /** Whether the provider says that it has verified the person's e-mail address; missing without one. */
  emailVerified?: boolean;
  /**
   * The provider's answer about the person, or the claims of the id_token, as the provider wrote them; missing
   * if longer than 16 KiB.
   */
  profile?: Record<string, unknown>;
  /** The failure of the provider's identity request, if the id_token alone names the person. */
  identityProblem?: Problem;
  /**
   * The provider that issues the tokens, if it is not the one of the request: with resource, and at another
   * server.
   */
  provider?: string;
  /** The resource's own name, for credentials.get. */
  resource?: string;
}

/** Changes the display name; an empty one removes it. */
export interface AccountsUpdateParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** The name for people; an empty one removes it. */
  displayName?: string;
}

export interface AccountsUpdateResult {
  /** The store's revision; grows with every change. */
  revision: number;
}

/** Sets the account of a provider that an application prefers; without an account, removes the preference. */
export interface AccountsSetPreferredParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The preferred account's id; missing to remove the preference. */
  account?: string;
  /** The name of the application; the caller's own when missing. */
  application?: string;
}

export type AccountsSetPreferredResult = AccountsUpdateResult;

/** Explains which account auth.perform would use with these parameters; changes nothing. */
export interface AccountsExplainParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** Answers selectAccount and confirmAccount in advance. */
  account?: string;
  /** Answers confirmAccount in advance. */
  confirm?: boolean;
  /** always asks for the account, whenMany only among several without a preferred one. */
  selection?: "always" | "whenMany";
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
  /** true: the credential has its refresh token too. */
  includeRefreshToken?: boolean;
}

export interface AccountsExplainResult {
  /** The rule that selects the account; person: the person is asked; nothing: the request fails. */
  rule: "account" | "confirm" | "onlyAccount" | "preferred" | "person" | "nothing";
  /** Unless the person decides: the account's id. */
  account?: string;
  /** The kinds of the expected prompts. */
  prompts:
    | ("grantAccess"
    | "selectAccount"
    | "confirmAccount"
    | "replaceAccount"
    | "openURL"
    | "deviceCode"
    | "enterVerifier"
    | "enterPassphrase"
    | "enterPassword"
    | "trustCertificate")[];
  /** The expected error. */
  error?: Error;
}

/** Renews the application's credential at the provider, as far as that goes without the person. */
export interface AccountsRenewParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** The protected resource of the credential, by its name in the result of accounts.signIn. */
  resource?: string;
}

export interface AccountsRenewResult {
  /** rejected: the provider refused; failed: the provider could not be asked, or the person is needed. */
  result: "renewed" | "rejected" | "failed";
  /** The error unless renewed; data.next has the next steps. */
  error?: Error;
}

/** Removes the account's credentials from the store and revokes them at the provider; the account stays. */
export interface AccountsSignOutParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** Whether the credentials are revoked at the provider. */
  revoke?: boolean;
  /**
   * true: nothing is forgotten if a credential cannot be revoked from here, because the registration is missing
   * (1006), the provider has other addresses (1027) or the credential does not decrypt (1009).
   */
  requireRevocation?: boolean;
}

export interface AccountsSignOutResultNotRevoked {
  /** A credential. */
  what: string;
  /** The reason why it stays valid at the provider. */
  reason: string;
  /** The next step, if there is one. */
  next?: NextStep[];
}

export interface AccountsSignOutResult {
  /**
   * The revoked credentials: system, or application and a client id; then refreshToken or accessToken if each is
   * revoked by itself.
   */
  revoked: string[];
  /** The credentials that stay valid at the provider. */
  notRevoked: AccountsSignOutResultNotRevoked[];
  /** The page that signs the browser out at the provider, if the front end opens it. */
  endSessionURL?: string;
  /** The store's revision; grows with every change. */
  revision: number;
}

/** Removes the account and its credentials here, then revokes them at the provider. */
export interface AccountsRemoveParams {
  /** An account's id, from accounts.list. */
  account: string;
  /**
   * true: nothing is forgotten if a credential cannot be revoked from here, because the registration is missing
   * (1006), the provider has other addresses (1027) or the credential does not decrypt (1009).
   */
  requireRevocation?: boolean;
}

export type AccountsRemoveResult = AccountsSignOutResult;

/** Writes all accounts with their credentials to a file that only a passphrase opens. */
export interface AccountsExportParams {
  /** The absolute path of the new file. */
  path: string;
  /** Overwrite an existing file of this user. */
  replace?: boolean;
  /** Take a passphrase of fewer than twelve characters too. */
  weak?: boolean;
}

export interface AccountsExportResult {
  /** The path of the file. */
  path: string;
  /** The number of accounts in the file. */
  accounts: number;
  /** The number of users in the file. */
  users: number;
  /** The size of the file in bytes. */
  bytes: number;
}

/** Adds the content of a file of accounts.export. */
export interface AccountsImportParams {
  /** The absolute path of a file of accounts.export. */
  path: string;
  /** Overwrite existing accounts. */
  replace?: boolean;
}

export interface AccountsImportResultAccounts {
  /** The provider in the file. */
  provider: string;
  /** The user name in the file. */
  username: string;
  /** The outcome. */
  result: "refused" | "alreadyThere" | "replaced" | "added";
  /** The id in this store. */
  account?: string;
  /** The error of a refused account. */
  error?: Error;
}

export interface AccountsImportResult {
  /** The number of new accounts. */
  added: number;
  /** The number of overwritten accounts. */
  replaced: number;
  /** The number of existing accounts that were kept. */
  alreadyThere: number;
  /** The number of accounts that could not be added. */
  refused: number;
  /** The first 50 accounts; those that were not added come first. */
  accounts: AccountsImportResultAccounts[];
  /** The providers that were added from the file, because the catalogue lacks them. */
  providers: string[];
  /** The providers with a registration from the file. */
  registrations: string[];
  /** The number of new users. */
  users: number;
  /** The number of users that stay out, because the id, an identity or the address is taken. */
  usersAlreadyThere: number;
  /** The number of users that could not be read. */
  usersRefused: number;
}

export type AccessListParams = ProvidersListParams;

export interface AccessListResult {
  /** The grants. */
  grants: Grant[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

/** Grants or denies an application the accounts of a provider, or some of them. */
export interface AccessSetParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The decision of the person. */
  state: "granted" | "denied";
  /** The name of the application; the caller's own when missing. */
  application?: string;
  /** With granted: the ids of the only accounts of the decision; all accounts of the provider when missing. */
  accounts?: string[];
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
  /** Further values for the application; refreshToken: allows includeRefreshToken. */
  includes?: "refreshToken"[];
}

export type AccessSetResult = AccountsUpdateResult;

/** Removes an access decision, so that the next request asks again. */
export interface AccessResetParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The name of the application; the caller's own when missing. */
  application?: string;
}

export type AccessResetResult = AccountsUpdateResult;

/** Asks for access and for the account, then gets a credential for the application. */
export interface AuthPerformParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** Answers selectAccount and confirmAccount in advance. */
  account?: string;
  /** Answers confirmAccount in advance. */
  confirm?: boolean;
  /** always asks for the account, whenMany only among several without a preferred one. */
  selection?: "always" | "whenMany";
  /** The permissions of the application. */
  permissions?: string[];
  /** The audience of posts. */
  audience?: "onlyMe" | "friends" | "everyone";
  /** true: the credential has its refresh token too. */
  includeRefreshToken?: boolean;
  /** The only allowed kind of flow; without it the provider's first one whose prompts the front end can show. */
  flowKind?:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** ifNeeded: the person signs in if there is no account, or if the account needs it. */
  signIn?: "never" | "ifNeeded";
  /** none: the request ends with the choice of the account. */
  credential?: "fetch" | "none";
  /** never: 1010 in place of a prompt. */
  interactive?: "auto" | "never";
  /**
   * The time in seconds for which the credential must stay valid; without it 60, or as in the provider's
   * descriptor, and a credential that cannot be renewed serves to its end.
   */
  minValiditySeconds?: number;
  /** true: answers at once with the flow alone, and auth.completed reports the outcome. */
  detached?: boolean;
  /** The time limit for the person in seconds. */
  deadlineSeconds?: number;
  /** The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them. */
  scopes?: string[];
  /** Further parameters for the provider's page or the request for a device code, passed on unchanged. */
  customParameters?: Record<string, string>;
  /** The request to the provider's page, in the words of OpenID Connect. */
  page?: SignInPage;
  /** The person's own server: for passwordSession, and in accounts.signIn its host for a provider with server. */
  server?: OwnServer;
}

export interface AuthPerformResult {
  /** The flow's id. */
  flow: string;
  /** The account's id; missing when detached. */
  account?: string;
  /** After a sign-in by the person: whether it added the account. */
  created?: boolean;
  /** The credential for the application. */
  credential?: Credential;
}

export type AuthListParams = ProvidersListParams;

export interface AuthListResultFlows {
  /** The flow's id. */
  flow: string;
  /** The application that started it. */
  application: string;
  /** A provider's id, from providers.list. */
  provider: string;
  /** The kind of flow. */
  flowKind:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** The current stage. */
  stage:
    | "access"
    | "selecting"
    | "awaitingPerson"
    | "discovering"
    | "requesting"
    | "exchanging"
    | "verifying"
    | "saving"
    | "awaitingPort"
    | "awaitingSignIn";
  /** The start time. */
  startedAt: number;
  /** The time at which it gives up. */
  expiresAt: number;
  /** Whether auth.completed reports its outcome. */
  detached: boolean;
  /** The prompts it waits for. */
  prompts: string[];
}

export interface AuthListResult {
  /** The flows. */
  flows: AuthListResultFlows[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

/** Cancels a flow; its request answers -32800, or auth.completed has this error. */
export interface AuthCancelParams {
  /** The flow's id. */
  flow: string;
}

export type AuthCancelResult = ShutdownResult;

/** A credential of an account for the application: the stored one while it is valid, else a new one. */
export interface CredentialsGetParams {
  /** An account's id, from accounts.list. */
  account: string;
  /**
   * The time in seconds for which the credential must stay valid; without it 60, or as in the provider's
   * descriptor, and a credential that cannot be renewed serves to its end.
   */
  minValiditySeconds?: number;
  /** true: a new token in any case. */
  forceRefresh?: boolean;
  /** true: the id_token must stay valid for that time too; otherwise it may end before the access token. */
  idToken?: boolean;
  /** The scopes that the token must have, or names of the provider's scopeNames. */
  scopes?: string[];
  /** The protected resource of the credential, by its name in the result of accounts.signIn. */
  resource?: string;
  /** The address of the service: a URL, or a host name with a port if it is not the usual one. */
  address?: string;
}

export interface CredentialsGetResult {
  /** The credential for the application. */
  credential: Credential;
  /** The time left of the credential, if it is less than minValiditySeconds. */
  lifetimeSeconds?: number;
}

/** Reports that a service has refused the credential (401). */
export interface CredentialsRejectParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** The protected resource of the credential, by its name in the result of accounts.signIn. */
  resource?: string;
  /** The address of the service: a URL, or a host name with a port if it is not the usual one. */
  address?: string;
  /** true: a credential that only a sign-in replaces stays, and nobody is asked. */
  onlyRenewable?: boolean;
}

export type CredentialsRejectResult = ShutdownResult;

/** Makes the header of a request: an OAuth 1.0a signature, Bearer, DPoP or the provider's own. */
export interface CredentialsSignParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** The protected resource of the credential, by its name in the result of accounts.signIn. */
  resource?: string;
  /** The method of the request. */
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The address of the request. */
  url: string;
  /** The fields of a form body. */
  form?: Record<string, string>;
  /** The DPoP-Nonce of the resource's last answer, if any. */
  nonce?: string;
}

export interface CredentialsSignResultHeaders {
  /** The name. */
  name: string;
  /** The value. */
  value: string;
}

export interface CredentialsSignResult {
  /** The fields to add to the request. */
  headers: CredentialsSignResultHeaders[];
}

/** The picture of an account as a file beside the store. */
export interface AvatarsGetParams {
  /** An account's id, from accounts.list. */
  account: string;
}

export interface AvatarsGetResult {
  /** The absolute path of the file; missing for an account without a picture. */
  path?: string;
  /** The media type, by the first bytes of the file. */
  type?: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** The time of the last fetch. */
  fetchedAt?: number;
}

/** Finds the account whose token an address or a provider takes. Changes nothing. */
export interface ServicesResolveParams {
  /**
   * An https address, or a host alone, with its port if that is not the usual one:
   * https://git.example.com/group/app.git, imap.example.com or 127.0.0.1:5000.
   */
  address?: string;
  /** Instead of an address: a provider's id. */
  provider?: string;
  /**
   * The user name or id of the account, or what only one account has: the user name in other letter case, or the
   * e-mail address; without it the account of the service, of the folder, or the usual one of the application.
   */
  account?: string;
  /** The absolute path of the folder in which the program works, without symbolic links. */
  folder?: string;
}

export interface ServicesResolveResult {
  /** The provider's id. */
  provider: string;
  /** The address of the service in the configuration that decided; missing for a host of the provider. */
  service?: string;
  /** The protected resource to name in credentials.get, if the account has a credential for it. */
  resource?: string;
  /** The user name to send with the token, if the service needs one; * if it takes any. */
  username?: string;
  /** The form of the token over HTTP: a bearer token, or the password of a user name. */
  scheme: "basic" | "bearer";
  /**
   * The fields of a request, with {token} in the place of the token, if the host takes others than Authorization
   * with a bearer token; for a provider, if all its hosts take the same.
   */
  headers?: Record<string, string>;
  /** The scopes that the token must have, for credentials.get. */
  scopes?: string[];
  /** The rule that selects the account, as in accounts.explain. */
  rule: "account" | "confirm" | "onlyAccount" | "preferred" | "person" | "nothing";
  /** The account's id; missing if the person decides. */
  account?: string;
  /** The error of a request without prompts. */
  error?: Error;
}

export interface Oauth1VerifyParamsCredential {
  type: "oauth1";
  /** The token. */
  key: string;
  /** The token's secret. */
  secret: string;
}

export interface Oauth2VerifyParamsCredential {
  type: "oauth2";
  /** The access token. */
  token: string;
  /** The id_token that came with it. */
  idToken?: string;
}

export interface IdTokenVerifyParamsCredential {
  type: "idToken";
  /** An id_token, checked with its issuer's keys. */
  idToken: string;
}

/** The conditions: valid is true only if each of them holds. */
export interface VerifyParamsExpect {
  /** The provider's id of the person. */
  id?: string;
  /** The client id of the application; the caller's own when missing. */
  clientId?: string;
  /** The expected scopes. */
  scopes?: string[];
  /** The expected nonce of an id_token. */
  nonce?: string;
}

/** Checks a credential at the provider: its validity, its application and its person. */
export interface VerifyParams {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The credential to check. */
  credential?: Oauth1VerifyParamsCredential | Oauth2VerifyParamsCredential | IdTokenVerifyParamsCredential;
  /** Instead of credential: the stored credential of this account. */
  account?: string;
  /** The conditions: valid is true only if each of them holds. */
  expect?: VerifyParamsExpect;
}

export interface VerifyResultChecks {
  /** The name of the check: active, application, expiry and others. */
  check: string;
  /** Whether the check passed. */
  ok: boolean;
  /** The reason for a failed check. */
  detail?: string;
}

export interface VerifyResult {
  /** Whether every check is ok. */
  valid: boolean;
  /** The person of the credential. */
  identity?: Identity;
  /** The client id of the registration that it was issued to. */
  clientId?: string;
  /** The scopes of the token. */
  scopes?: string[];
  /** The expiry time. */
  expiresAt?: number;
  /** The checks in the order made. */
  checks: VerifyResultChecks[];
}

export type SettingsGetParams = ProvidersRemoveParams;

/** The last settings, as a sign-in takes them; missing before the first sign-in. */
export interface SettingsGetResultServer {
  /** The host name or the address. */
  host: string;
  /** The port that the sign-in gave. */
  port?: number;
  /** The secure that the sign-in gave: whether to use https. */
  secure?: boolean;
  /** Whether to keep the cookies of the session. */
  useCookies: boolean;
  /** Whether the person is asked about a certificate that is not trusted. */
  acceptUntrustedCertificates: boolean;
  /** The user name. */
  username?: string;
}

export interface SettingsGetResult {
  /** The provider's id. */
  provider: string;
  /** The last settings, as a sign-in takes them; missing before the first sign-in. */
  server?: SettingsGetResultServer;
}

/** Signs a user in, and makes the user if there is none. */
export interface UsersSignInParams {
  /** Signs in at this provider first; with credential: the provider that issued it. */
  provider?: string;
  /** Instead: an account that the application has access to. */
  account?: string;
  /** The credential to check. */
  credential?: Oauth1VerifyParamsCredential | Oauth2VerifyParamsCredential | IdTokenVerifyParamsCredential;
  /** Instead: the pending credential of an earlier error. */
  pendingCredential?: string;
  /** The only allowed kind of flow; without it the provider's first one whose prompts the front end can show. */
  flowKind?:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** The time limit for the person in seconds. */
  deadlineSeconds?: number;
  /** The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them. */
  scopes?: string[];
  /** Further parameters for the provider's page or the request for a device code, passed on unchanged. */
  customParameters?: Record<string, string>;
  /** The request to the provider's page, in the words of OpenID Connect. */
  page?: SignInPage;
  /** The person's own server: for passwordSession, and in accounts.signIn its host for a provider with server. */
  server?: OwnServer;
  /**
   * With an account or a sign-in: true adds the application's credential of the account to the result; needs
   * granted access, and is in the audit trail.
   */
  includeCredential?: boolean;
}

/** Further facts about the sign-in. */
export interface UsersSignInResultAdditionalUserInfo {
  /** The provider of the sign-in, or password. */
  providerId: string;
  /** The person's user name at the provider. */
  username?: string;
  /** Whether the user was made by this request. */
  isNewUser: boolean;
  /** The provider's answer about the person, if it was asked now. */
  profile?: Record<string, unknown>;
}

export interface UsersSignInResult {
  /** The user. */
  user: User;
  /** Further facts about the sign-in. */
  additionalUserInfo: UsersSignInResultAdditionalUserInfo;
  /** After a sign-in at a provider: the flow's id. */
  flow?: string;
  /**
   * With includeCredential: the application's credential of the account; if it cannot be had, the request fails,
   * and the proof counts nevertheless.
   */
  credential?: Credential;
}

/** Adds a way to sign in to the current user: the identity of a proof, or a first password. */
export interface UsersLinkParams {
  /** Signs in at this provider first; with credential: the provider that issued it. */
  provider?: string;
  /** Instead: an account that the application has access to. */
  account?: string;
  /** The credential to check. */
  credential?: Oauth1VerifyParamsCredential | Oauth2VerifyParamsCredential | IdTokenVerifyParamsCredential;
  /** Instead: the pending credential of an earlier error. */
  pendingCredential?: string;
  /** The only allowed kind of flow; without it the provider's first one whose prompts the front end can show. */
  flowKind?:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** The time limit for the person in seconds. */
  deadlineSeconds?: number;
  /** The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them. */
  scopes?: string[];
  /** Further parameters for the provider's page or the request for a device code, passed on unchanged. */
  customParameters?: Record<string, string>;
  /** The request to the provider's page, in the words of OpenID Connect. */
  page?: SignInPage;
  /** The person's own server: for passwordSession, and in accounts.signIn its host for a provider with server. */
  server?: OwnServer;
  /**
   * With an account or a sign-in: true adds the application's credential of the account to the result; needs
   * granted access, and is in the audit trail.
   */
  includeCredential?: boolean;
  /** With password: the address that goes with it; the user's when missing. */
  email?: string;
  /** Instead of a proof: the user's password, of at least six characters. */
  password?: string;
  /** A user other than the current one, for the person who manages all users; no sign-in is needed then. */
  user?: string;
}

export type UsersLinkResult = UsersSignInResult;

/** Proves that the person is the current user, for the changes that need a recent sign-in. */
export interface UsersReauthenticateParams {
  /** Signs in at this provider first; with credential: the provider that issued it. */
  provider?: string;
  /** The credential to check. */
  credential?: Oauth1VerifyParamsCredential | Oauth2VerifyParamsCredential | IdTokenVerifyParamsCredential;
  /** Instead: the pending credential of an earlier error. */
  pendingCredential?: string;
  /** The only allowed kind of flow; without it the provider's first one whose prompts the front end can show. */
  flowKind?:
    | "reverseAuth"
    | "systemToken"
    | "authorizationCode"
    | "deviceCode"
    | "oauth1"
    | "clientCredentials"
    | "jwtBearer"
    | "tokenExchange"
    | "passwordSession";
  /** The time limit for the person in seconds. */
  deadlineSeconds?: number;
  /** The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them. */
  scopes?: string[];
  /** Further parameters for the provider's page or the request for a device code, passed on unchanged. */
  customParameters?: Record<string, string>;
  /** The request to the provider's page, in the words of OpenID Connect. */
  page?: SignInPage;
  /** The person's own server: for passwordSession, and in accounts.signIn its host for a provider with server. */
  server?: OwnServer;
  /**
   * With an account or a sign-in: true adds the application's credential of the account to the result; needs
   * granted access, and is in the audit trail.
   */
  includeCredential?: boolean;
  /** Instead of a proof: the user's password, of at least six characters. */
  password?: string;
}

export type UsersReauthenticateResult = UsersSignInResult;

/** Makes a user with an e-mail address and a password, and signs the user in. */
export interface UsersCreateParams {
  /** The e-mail address. */
  email: string;
  /** The password, of at least six characters. */
  password: string;
  /** The name for people; an empty one removes it. */
  displayName?: string;
  /** The address of a picture; an empty one removes it. */
  photo?: string;
}

export interface UsersCreateResult {
  /** The user. */
  user: User;
  /** Further facts about the sign-in. */
  additionalUserInfo: UsersSignInResultAdditionalUserInfo;
}

/** Signs in the user with this e-mail address and password. */
export interface UsersSignInWithPasswordParams {
  /** The e-mail address. */
  email: string;
  /** The password, of at least six characters. */
  password: string;
}

export type UsersSignInWithPasswordResult = UsersCreateResult;

/** Changes the profile, the e-mail address or the password of the current user. */
export interface UsersUpdateParams {
  /** The name for people; an empty one removes it. */
  displayName?: string;
  /** The address of a picture; an empty one removes it. */
  photo?: string;
  /** The new e-mail address, also the one of the password. */
  email?: string;
  /** The new password, of at least six characters. */
  password?: string;
  /** A user other than the current one, for the person who manages all users; no sign-in is needed then. */
  user?: string;
}

export interface UsersUpdateResult {
  /** The user. */
  user: User;
}

export type UsersCurrentParams = ShutdownParams;

export interface UsersCurrentResult {
  /** The user; missing if none is signed in. */
  user?: User;
}

/** The users of the application's directory, in order of making. */
export interface UsersListParams {
  /** The users of all applications, for the person who manages them. */
  everyDirectory?: boolean;
  /** The largest number of entries. */
  limit?: number;
  /** The start of the page: nextCursor of the previous page. */
  cursor?: string;
}

export interface UsersListResult {
  /** The users. */
  users: User[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

/** The providers by which the user with an e-mail address signs in, to be shown after 17012. */
export interface UsersProvidersForEmailParams {
  /** The e-mail address. */
  email: string;
}

export interface UsersProvidersForEmailResult {
  /** The providers' ids, or password; none without such a user. */
  providers: string[];
}

/** Removes a way to sign in from the current user. */
export interface UsersUnlinkParams {
  /** The provider's id, or password. */
  provider: string;
  /** true unlinks even the only identity, after a recent sign-in; no sign-in leads to the user then. */
  evenTheLast?: boolean;
  /** A user other than the current one, for the person who manages all users; no sign-in is needed then. */
  user?: string;
}

export type UsersUnlinkResult = UsersUpdateResult;

export type UsersSignOutParams = ShutdownParams;

export type UsersSignOutResult = ShutdownResult;

/** Removes the current user from the directory; the accounts stay. */
export interface UsersDeleteParams {
  /** A user other than the current one, for the person who manages all users; no sign-in is needed then. */
  user?: string;
}

export type UsersDeleteResult = ShutdownResult;

/** Adds a way to open the key, in place of one of the same kind; the key stays the same. */
export interface StoreAddKeySlotParams {
  /** The kind of the new slot. */
  kind: "keyfile" | "passphrase" | "secretservice" | "command";
}

export interface StoreAddKeySlotResult {
  /** The key slots. */
  slots: string[];
}

/** Removes a way to open the key, never the last one. */
export interface StoreRemoveKeySlotParams {
  /** The kind of the removed slot. */
  kind: "keyfile" | "passphrase" | "secretservice" | "command" | "fd";
}

export type StoreRemoveKeySlotResult = StoreAddKeySlotResult;

/** Lets each program of this user open a store with a passphrase, for a while. */
export interface StoreUnlockParams {
  /** How long the store stays unlocked. */
  seconds: number;
}

export interface StoreUnlockResult {
  /** The time at which the kernel forgets the secret. */
  unlockedUntil: number;
}

export type StoreLockParams = ShutdownParams;

export interface StoreLockResult {
  /** Whether the kernel had the secret. */
  wasUnlocked: boolean;
}

/** The receivers of credentials, the newest first, never the credential. */
export interface AuditListParams {
  /** Only entries of this application. */
  application?: string;
  /** Only entries about this provider. */
  provider?: string;
  /** Only entries about this account. */
  account?: string;
  /** Only entries of this method. */
  method?: string;
  /** Not before this time. */
  since?: number;
  /** Before this time. */
  before?: number;
  /** The largest number of entries. */
  limit?: number;
  /** The start of the page: nextCursor of the previous page. */
  cursor?: string;
}

export interface AuditListResult {
  /** The entries, the newest first. */
  entries: AuditEntry[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

/** Removes the entries of the audit trail before a time. */
export interface AuditPruneParams {
  /** Older entries are removed. */
  before: number;
}

export interface AuditPruneResult {
  /** The number of removed entries. */
  removed: number;
}

/** Answers an open prompt. */
export interface PromptAnswerParams {
  /** The prompt's id. */
  prompt: string;
  /** accept; decline: stored as a denial; cancel: this time only. */
  action: "accept" | "decline" | "cancel";
  /** With accept: the account for selectAccount; for replaceAccount too, unless it is a new one. */
  account?: string;
  /** With accept: the final address of the browser, for openURL. */
  redirectURL?: string;
  /** With accept: the verifier, for enterVerifier. */
  text?: string;
  /** With accept: the passphrase, for enterPassphrase. */
  passphrase?: string;
  /** With accept: the user name, if the prompt enterPassword has none. */
  username?: string;
  /** With accept: the password, for enterPassword. */
  password?: string;
  /**
   * With accept: true keeps the password for new sessions without the person, for enterPassword with
   * mayRemember.
   */
  remember?: boolean;
}

export type PromptAnswerResult = ShutdownResult;

export type PromptListParams = ProvidersListParams;

export interface PromptListResult {
  /** The open prompts. */
  prompts: Prompt[];
  /** The cursor of the next page; missing on the last one. */
  nextCursor?: string;
}

export type NetworkStatusParams = ShutdownParams;

export interface NetworkStatusResult {
  /** Whether there is a default route over a running interface; missing if the system does not say. */
  online?: boolean;
}

export type AccountsCheckServerParams = AvatarsGetParams;

export interface AccountsCheckServerResult {
  /** The origin of the server. */
  server: string;
  /** The public key of the certificate, sha256// and base64; missing for plain http. */
  publicKey?: string;
  /** The reason why the certificate is not trusted; missing for a trusted one. */
  fault?: "selfSigned" | "unknownAuthority" | "expired" | "notYetValid" | "otherHost" | "untrusted";
  /** The end of the certificate's validity. */
  certificateEndsAt?: number;
  /** Whether the validity has ended. */
  expired?: boolean;
  /** Whether a request would be sent: the certificate is trusted, or its key was accepted for the account. */
  accepted?: boolean;
}

export type StoreStatusParams = ShutdownParams;

/** The server of a store in PostgreSQL. */
export interface StoreStatusResultDatabase {
  /** The version of PostgreSQL. */
  version: string;
  /** Whether a stored change survives a crash of the server. */
  durable: boolean;
  /** none, asynchronous (a promotion may lose the last changes) or synchronous. */
  standby: string;
  /** Whether the connection is encrypted by TLS. */
  tls: boolean;
  /** Whether a pooler stands before the server. */
  pooled: boolean;
  /** The seconds by which its clock is ahead of this machine's. */
  clockOffset: number;
}

export interface StoreStatusResult {
  /** The database; missing for one in memory. */
  path?: string;
  /** Whether the store exists; the first change creates it. */
  exists: boolean;
  /**
   * The protection of the key: keyfile, command, secretservice, passphrase, fd or memory; with several slots,
   * the weakest one.
   */
  protection: string;
  /** The key slots. */
  slots: string[];
  /** The time until which store.unlock lets every program of this user open the store. */
  unlockedUntil?: number;
  /** The schema version of the database. */
  schema: number;
  /** The store's revision; grows with every change. */
  revision: number;
  /** The number of accounts. */
  accounts: number;
  /** The size of the database in bytes. */
  databaseBytes: number;
  /** The size of its journal in bytes. */
  journalBytes: number;
  /** Whether it cannot be written now. */
  readOnly: boolean;
  /** The id of another process that blocks changes now. */
  holder?: number;
  /** The number of values sealed with the key; the limit is 2^31. */
  keyUses: number;
  /** Whether keys in memory are kept out of swap files. */
  memoryLocked: boolean;
  /** The version of the database library. */
  sqlite?: string;
  /** The server of a store in PostgreSQL. */
  database?: StoreStatusResultDatabase;
  /** The next steps for what is not well; empty if all is. */
  next: NextStep[];
}

export type StoreCheckParams = ShutdownParams;

export interface StoreCheckResultFindings {
  /**
   * The kind: damage, the database contradicts itself; orphan, a row of no account; undecryptable, a value that
   * does not decrypt; bindingMismatch, a changed binding to the places to which a credential may be sent;
   * keyUnavailable, no sealed value could be tried.
   */
  kind: "damage" | "orphan" | "undecryptable" | "bindingMismatch" | "keyUnavailable";
  /** The account of the damaged value; missing if there is none. */
  account?: string;
  /** For people. */
  message: string;
  /** The next steps. */
  next: NextStep[];
}

export interface StoreCheckResult {
  /** true without findings. */
  sound: boolean;
  /** The number of checked accounts. */
  accounts: number;
  /** The number of opened values. */
  sealedValues: number;
  /** The total number of findings. */
  countFindings: number;
  /** The first 50 findings. */
  findings: StoreCheckResultFindings[];
}

/** Copies the store while it is in use. The secrets in the copy do not open without one of its key slots. */
export interface StoreBackupParams {
  /** An absolute, unused path in a directory that only this user can write to. */
  path: string;
}

export interface StoreBackupResult {
  /** The copy. */
  path: string;
  /** The size of the copy in bytes. */
  bytes: number;
  /** Always false: keep the key file too, in another place. */
  includesKey: boolean;
}

/**
 * Moves the store to another file or into a database, and compares the two. The old store gets another name, so
 * that no token is used from both.
 */
export interface StoreMoveParams {
  /** An absolute path or a postgresql:// address without a store. */
  to: string;
}

export interface StoreMoveResult {
  /** The path or address of the store now. */
  path: string;
  /** The name of the old store now. */
  former: string;
  /** The number of rows that were moved and compared. */
  rows: number;
}

export type StoreRotateKeyParams = ShutdownParams;

export interface StoreRotateKeyResult {
  /** The number of values sealed again. */
  sealedValues: number;
  /** The key slots of the new key. */
  slots: string[];
  /** The key slots that could not be opened and were removed. */
  droppedSlots: string[];
}

/** Moves this process's clock and wakes its timers. Only with --test. */
export interface TestAdvanceClockParams {
  /** The number of seconds. */
  seconds: number;
}

export type TestAdvanceClockResult = ShutdownResult;

export type PromptOpenedParams = Prompt;

/** A prompt no longer needs an answer. */
export interface PromptClosedParams {
  /** The prompt's id. */
  prompt: string;
  /** The outcome of the prompt. */
  outcome: "accepted" | "declined" | "cancelled" | "expired" | "satisfied";
}

/** The progress of a flow. */
export interface AuthProgressParams {
  /** The flow's id. */
  flow: string;
  /**
   * The current stage; awaitingPort: a sign-in of another program has the port of the redirect address;
   * awaitingSignIn: another program asks for the same sign-in.
   */
  stage:
    | "access"
    | "selecting"
    | "awaitingPerson"
    | "discovering"
    | "requesting"
    | "exchanging"
    | "verifying"
    | "saving"
    | "awaitingPort"
    | "awaitingSignIn";
}

/** The outcome of a detached flow, exactly once. */
export interface AuthCompletedParams {
  /** The flow's id. */
  flow: string;
  /** After success: the account's id. */
  account?: string;
  /** As in the result of accounts.signIn. */
  created?: boolean;
  /** As in the result of accounts.signIn. */
  emailVerified?: boolean;
  /** As in the result of accounts.signIn. */
  profile?: Record<string, unknown>;
  /** As in the result of accounts.signIn. */
  provider?: string;
  /** As in the result of accounts.signIn. */
  resource?: string;
  /** After success: the credential. */
  credential?: Credential;
  /** After a failure: the error. */
  error?: Error;
}

export interface AccountsChangedParamsChanges {
  /** An account's id, from accounts.list. */
  account: string;
  /** The kind of change. */
  change: "added" | "removed" | "updated" | "health";
}

/** Accounts were added, removed or changed. */
export interface AccountsChangedParams {
  /** The store's revision; grows with every change. */
  revision: number;
  /** The changes. */
  changes: AccountsChangedParamsChanges[];
  /** true after more than 100 changes at once, or unknown ones: request the list again. */
  reload?: boolean;
}

/** An access decision was made or removed. */
export interface AccessChangedParams {
  /** The store's revision; grows with every change. */
  revision: number;
  /** The application of the decision. */
  application?: string;
  /** The provider of the accounts. */
  provider?: string;
  /** true after more than 100 changes at once, or unknown ones: request the list again. */
  reload?: boolean;
}

export interface ProvidersChangedParamsChanges {
  /** A provider's id, from providers.list. */
  provider: string;
  /** The kind of change; configured: its registration was added, replaced or removed. */
  change: "added" | "updated" | "removed" | "configured";
}

/** Providers were added, replaced, removed, or got another registration. */
export interface ProvidersChangedParams {
  /** The changes. */
  changes: ProvidersChangedParamsChanges[];
  /** true after more than 100 changes at once, or unknown ones: request the list again. */
  reload?: boolean;
}

export interface UsersChangedParamsChanges {
  /** The user's id. */
  user: string;
  /** The kind of change. */
  change: "added" | "removed" | "updated" | "signedIn" | "signedOut";
}

/** Users of the application's directory changed; for capabilities.users alone, first after initialize. */
export interface UsersChangedParams {
  /** The store's revision; grows with every change. */
  revision: number;
  /** The changes. */
  changes: UsersChangedParamsChanges[];
  /** true after more than 100 changes at once, or unknown ones: request the list again. */
  reload?: boolean;
}

/** A new token is in the store; credentials.get has it. */
export interface CredentialsRefreshedParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** Bearer or DPoP. */
  tokenType: string;
  /** The scopes of the token. */
  scopes: string[];
  /** The expiry time; missing if unknown. */
  expiresAt?: number;
}

/**
 * The automatic refresh of a credential has ended; the next credentials.get tries a refresh, and begins it
 * again.
 */
export interface CredentialsRefreshFailedParams {
  /** An account's id, from accounts.list. */
  account: string;
  /** The resource of the credential; missing for the account's own. */
  resource?: string;
  /** The error; data.next has the next steps. */
  error: Error;
}

/** The machine went on or offline; for capabilities.network alone. */
export interface NetworkChangedParams {
  /** Whether the machine is online now. */
  online: boolean;
}

/** The progress of store.check, store.backup, store.move or store.rotateKey, at most once for each percent. */
export interface StoreProgressParams {
  /** The id of the request. */
  request: unknown;
  /** The method of the request. */
  method: string;
  /** The finished amount of work. */
  done: number;
  /** The total amount of work. */
  total: number;
}

/** The requests of a client, by method. */
export interface Requests {
  "shutdown": { params: ShutdownParams; result: ShutdownResult };
  "initialize": { params: InitializeParams; result: InitializeResult };
  "rpc.discover": { params: RpcDiscoverParams; result: RpcDiscoverResult };
  "providers.list": { params: ProvidersListParams; result: ProvidersListResult };
  "providers.add": { params: ProvidersAddParams; result: ProvidersAddResult };
  "providers.remove": { params: ProvidersRemoveParams; result: ProvidersRemoveResult };
  "providers.configure": { params: ProvidersConfigureParams; result: ProvidersConfigureResult };
  "accounts.list": { params: AccountsListParams; result: AccountsListResult };
  "accounts.add": { params: AccountsAddParams; result: AccountsAddResult };
  "accounts.signIn": { params: AccountsSignInParams; result: AccountsSignInResult };
  "accounts.update": { params: AccountsUpdateParams; result: AccountsUpdateResult };
  "accounts.setPreferred": { params: AccountsSetPreferredParams; result: AccountsSetPreferredResult };
  "accounts.explain": { params: AccountsExplainParams; result: AccountsExplainResult };
  "accounts.renew": { params: AccountsRenewParams; result: AccountsRenewResult };
  "accounts.signOut": { params: AccountsSignOutParams; result: AccountsSignOutResult };
  "accounts.remove": { params: AccountsRemoveParams; result: AccountsRemoveResult };
  "accounts.export": { params: AccountsExportParams; result: AccountsExportResult };
  "accounts.import": { params: AccountsImportParams; result: AccountsImportResult };
  "access.list": { params: AccessListParams; result: AccessListResult };
  "access.set": { params: AccessSetParams; result: AccessSetResult };
  "access.reset": { params: AccessResetParams; result: AccessResetResult };
  "auth.perform": { params: AuthPerformParams; result: AuthPerformResult };
  "auth.list": { params: AuthListParams; result: AuthListResult };
  "auth.cancel": { params: AuthCancelParams; result: AuthCancelResult };
  "credentials.get": { params: CredentialsGetParams; result: CredentialsGetResult };
  "credentials.reject": { params: CredentialsRejectParams; result: CredentialsRejectResult };
  "credentials.sign": { params: CredentialsSignParams; result: CredentialsSignResult };
  "avatars.get": { params: AvatarsGetParams; result: AvatarsGetResult };
  "services.resolve": { params: ServicesResolveParams; result: ServicesResolveResult };
  "verify": { params: VerifyParams; result: VerifyResult };
  "settings.get": { params: SettingsGetParams; result: SettingsGetResult };
  "users.signIn": { params: UsersSignInParams; result: UsersSignInResult };
  "users.link": { params: UsersLinkParams; result: UsersLinkResult };
  "users.reauthenticate": { params: UsersReauthenticateParams; result: UsersReauthenticateResult };
  "users.create": { params: UsersCreateParams; result: UsersCreateResult };
  "users.signInWithPassword": { params: UsersSignInWithPasswordParams; result: UsersSignInWithPasswordResult };
  "users.update": { params: UsersUpdateParams; result: UsersUpdateResult };
  "users.current": { params: UsersCurrentParams; result: UsersCurrentResult };
  "users.list": { params: UsersListParams; result: UsersListResult };
  "users.providersForEmail": { params: UsersProvidersForEmailParams; result: UsersProvidersForEmailResult };
  "users.unlink": { params: UsersUnlinkParams; result: UsersUnlinkResult };
  "users.signOut": { params: UsersSignOutParams; result: UsersSignOutResult };
  "users.delete": { params: UsersDeleteParams; result: UsersDeleteResult };
  "store.addKeySlot": { params: StoreAddKeySlotParams; result: StoreAddKeySlotResult };
  "store.removeKeySlot": { params: StoreRemoveKeySlotParams; result: StoreRemoveKeySlotResult };
  "store.unlock": { params: StoreUnlockParams; result: StoreUnlockResult };
  "store.lock": { params: StoreLockParams; result: StoreLockResult };
  "audit.list": { params: AuditListParams; result: AuditListResult };
  "audit.prune": { params: AuditPruneParams; result: AuditPruneResult };
  "prompt.answer": { params: PromptAnswerParams; result: PromptAnswerResult };
  "prompt.list": { params: PromptListParams; result: PromptListResult };
  "network.status": { params: NetworkStatusParams; result: NetworkStatusResult };
  "accounts.checkServer": { params: AccountsCheckServerParams; result: AccountsCheckServerResult };
  "store.status": { params: StoreStatusParams; result: StoreStatusResult };
  "store.check": { params: StoreCheckParams; result: StoreCheckResult };
  "store.backup": { params: StoreBackupParams; result: StoreBackupResult };
  "store.move": { params: StoreMoveParams; result: StoreMoveResult };
  "store.rotateKey": { params: StoreRotateKeyParams; result: StoreRotateKeyResult };
  "test.advanceClock": { params: TestAdvanceClockParams; result: TestAdvanceClockResult };
}

/** The notifications of einlass, by method. */
export interface Notifications {
  "prompt.opened": PromptOpenedParams;
  "prompt.closed": PromptClosedParams;
  "auth.progress": AuthProgressParams;
  "auth.completed": AuthCompletedParams;
  "accounts.changed": AccountsChangedParams;
  "access.changed": AccessChangedParams;
  "providers.changed": ProvidersChangedParams;
  "users.changed": UsersChangedParams;
  "credentials.refreshed": CredentialsRefreshedParams;
  "credentials.refreshFailed": CredentialsRefreshFailedParams;
  "network.changed": NetworkChangedParams;
  "store.progress": StoreProgressParams;
}
