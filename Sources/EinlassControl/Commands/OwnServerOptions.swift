internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// The options of a sign-in at a server of the person's own.
struct OwnServerOptions: ParsableArguments {
  @Option(
    help:
      "Your own server, for a provider such as fcsdk, gitlab or mastodon: https://git.example.com.")
  var server: String?

  @Option(help: "Your user name at that server (default: asked for).")
  var username: String?

  @Option(
    help: ArgumentHelp(
      "Read the password at that server, one line, from this open descriptor; 0 is standard input.",
      valueName: "number"))
  var passwordFd: Int32?

  @Option(
    help: ArgumentHelp(
      "Accept this public key of that server without a question: sha256// and its digest in base64.",
      valueName: "key"))
  var trustedKey: String?

  @Option(
    help: ArgumentHelp(
      "Trust the authorities in this PEM file at that server. For other providers set caFile in the configuration file.",
      valueName: "path"))
  var caFile: String?

  @Flag(help: "Send the password to that server by plain http, which others on the way can read.")
  var plainHttp = false

  @Flag(name: .customLong("cookies"), help: "Keep the cookies of the session at that server.")
  var usesCookies = false

  @Flag(
    help: "Keep the password in the store, so that a session that has ended is replaced silently.")
  var remember = false

  mutating func validate() throws {
    try requireReadable(passwordFd, "--password-fd")
    guard passwordFd == nil || username != nil else {
      throw ValidationError("--password-fd needs --username.")
    }
  }

  /// Returns the parameter `server` of `accounts.signIn`. A person at the terminal is asked about a
  /// certificate that is not trusted.
  ///
  /// - Parameter provider: the provider; `nil` for a resource.
  func parameter(_ console: Console, at provider: String?) throws(Failure) -> JSONObject {
    let isOwn =
      try provider.map { provider throws(Failure) in
        try console.flowKinds(of: provider).contains("passwordSession")
      } ?? false
    let file = try caFile.map { path throws(Failure) in try absolute(path) }
    return JSONObject(present: [
      "host": server.map(JSONValue.string), "username": username.map(JSONValue.string),
      "secure": plainHttp ? false : nil, "useCookies": usesCookies ? true : nil,
      "trustedPublicKey": trustedKey.map(JSONValue.string), "caFile": file.map(JSONValue.string),
      "acceptUntrustedCertificates": isOwn && console.person != nil ? true : nil,
    ])
  }

  /// Returns the next step after a missing server, or after a certificate that was refused without a
  /// question.
  ///
  /// - Parameter isSeen: Whether a person is at the terminal.
  func step(after refusal: Refusal, isSeen: Bool) -> NextStep? {
    if server == nil, refusal.data["path"]?.string == "/server/host" {
      return NextStep("Name a server of your own with --server.")
    }
    guard !isSeen, server != nil, trustedKey == nil, let code = refusal.data["networkCode"]?.int64,
      (-1204 ... -1201).contains(code)
    else { return nil }
    return NextStep(
      "If it is your server, sign in on a terminal to see its key, or name the key with --trusted-key or the authority with --ca-file."
    )
  }

  /// Returns the password that a script gives; `nil` if the person enters it.
  func password(_ console: Console) throws(Failure) -> String? {
    guard let passwordFd else { return nil }
    let password = try console.line(of: passwordFd, "password")
    guard password.utf8.count <= 1024 else { throw .unusable("A password has 1 to 1024 bytes.") }
    return password
  }
}
