internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// The parameters of a person's sign-in.
enum SignInParams {
  static let scopes = TypedField.optional(
    "scopes", .identifiers(max: 256),
    "The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them."
  )
  static let customParameters = TypedField.optional(
    "customParameters", .parameters(maxBytes: 4096), default: [:],
    "Further parameters for the provider's page or the request for a device code, passed on unchanged.",
    isSecret: true)
  static let page = TypedField.optional(
    "page", .reference("SignInPage"), default: [:],
    "The request to the provider's page, in the words of OpenID Connect.")
  static let server = TypedField.optional(
    "server", .reference("OwnServer"), default: [:],
    "The person's own server: for passwordSession, and in accounts.signIn its host for a provider with server."
  )

  static let all = fields(scopes, customParameters, page, server)
}

/// The members of `page`: request parameters of OpenID Connect Core 1.0, section 3.1.2.1.
enum SignInPage {
  static let loginHint = TypedField.optional(
    "loginHint", .string(maxBytes: 1024), "The expected person: an address or a name.")
  static let prompt = TypedField.optional(
    "prompt", .string(maxBytes: 256),
    "login, consent, select_account or none, as in OpenID Connect.")
  static let maxAgeSeconds = TypedField.optional(
    "maxAgeSeconds", .integer(0...31_536_000),
    "The largest age of the person's sign-in at the provider."
  ).refusingNull
  static let acrValues = TypedField.optional(
    "acrValues", .string(maxBytes: 1024),
    "Requested authentication context classes (acr), preferred first.")
  static let claims = TypedField.optional(
    "claims", .json(.map(.any)), "The wanted claims (OpenID Connect Core 1.0, section 5.5)."
  )

  static let schema = Schema.object(
    fields(loginHint, prompt, maxAgeSeconds, acrValues, claims), isClosed: true)
}

/// The members of `server`.
enum OwnServer {
  /// At most `https://`, a host name of 253 bytes, a port and a slash.
  static let host = TypedField.optional(
    "host", .string(maxBytes: 268),
    "The host name or the address; without it and without account, a sign-in takes the server of settings.get."
  )
  static let port = TypedField.optional(
    "port", .integer(1...65535), "With host: the port; the provider's usual one when missing.")
  static let secure = TypedField.optional(
    "secure", .boolean,
    "With host: whether to use https; false sends the password by plain http, readable on the way.")
  static let username = TypedField.optional(
    "username", .identifier, "The user name; the person enters it when missing.")
  static let useCookies = TypedField.optional(
    "useCookies", .boolean,
    "Whether to keep the cookies of the session, if the provider leaves it open.")
  static let acceptUntrustedCertificates = TypedField.optional(
    "acceptUntrustedCertificates", .boolean,
    "true asks the person about a certificate that is not trusted, by trustCertificate.")
  static let trustedPublicKey = TypedField.optional(
    "trustedPublicKey", .string(maxBytes: 52),
    "The public key to accept without a question, sha256// and the SHA-256 digest of the SubjectPublicKeyInfo in base64; refused for plain http."
  ).refusingNull
  static let caFile = TypedField.optional(
    "caFile", .string(maxBytes: 4096),
    "The absolute path of a PEM file with the authorities of this server; takes the place of an accepted key."
  ).refusingNull

  static let schema = Schema.object(
    fields(
      host, port, secure, username, useCookies, acceptUntrustedCertificates, trustedPublicKey,
      caFile), isClosed: true)
}
