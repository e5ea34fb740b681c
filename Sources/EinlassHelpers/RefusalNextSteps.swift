package import EinlassJSON

extension Client {
  /// Returns the refusal for an error object. Its next step is a sign-in if the provider has a flow
  /// for that, even when this command has no terminal.
  package func refusal(
    _ error: JSONValue, at provider: String, _ account: Account?
  ) throws(Failure) -> Refusal {
    var refusal = Refusal(error)
    refusal.account = account?.title
    guard ["noSystemAccount", "reloginNeeded", "notIssuedToThisClient"].contains(refusal.reason),
      !refusal.isAboutSource, !refusal.hints("credentials.get"),
      try flowKinds(of: provider).contains(where: {
        ["authorizationCode", "deviceCode", "oauth1", "clientCredentials", "passwordSession"]
          .contains($0.string)
      })
    else { return refusal }
    refusal.ownStep =
      refusal.reason == "noSystemAccount"
      ? NextStep("Sign in there:", "sign-in", provider) : refusal.signInAgain
    return refusal
  }
}

extension Client {
  /// Returns the provider's flow kinds; none for an unknown provider.
  package func flowKinds(of provider: String) throws(Failure) -> [JSONValue] {
    try list("providers.list", "providers")
      .first { sameBytes($0["id"]?.string ?? "", provider) }?["flowKinds"]?.array ?? []
  }
}

extension Refusal {
  /// The next steps as commands of this program; none if the message already says them.
  package var nextSteps: [NextStep] {
    let advice: String? =
      switch data["advice"]?.string {
      case "checkClock": "Check this machine's clock."
      case "unlockOnWeb": "Unlock the account on the provider's web page."
      case "changeSettings":
        "Check the registration's client id and secret, and the application's settings at the provider."
      default: nil
      }
    return [advice.map { NextStep($0) }, ownStep ?? nextStep].compactMap(\.self)
  }

  private var nextStep: NextStep? {
    switch code {
    case -32800 ... -32000: protocolStep
    case 1001...1008, 1010...1019: signInStep
    case 1009: storeStep
    case 17000...17999: userStep
    default: selectionStep
    }
  }

  /// Steps for protocol errors and for requests that ended early.
  private var protocolStep: NextStep? {
    switch reason {
    case "cancelled": NextStep("Start the command again if you did not intend that.")
    case "shuttingDown": NextStep("Start the command again.")
    case "overloaded": NextStep("Wait a moment, then start the command again.")
    case "unknownMethod", "unsupportedVersion":
      NextStep("Update einlass: it is older than einlassctl. Both versions:", "doctor")
    case "invalidParams" where data["path"]?.string == "/credential/type":
      NextStep("List the providers:", "providers", "list")
    case "invalidParams": nil
    case "lineTooLong": NextStep("Pass less input at a time.")
    case "invalidCursor": NextStep("The list has changed meanwhile: start the command again.")
    case "internal": NextStep("Start it again with --log-level debug and report its log.")
    default: NextStep("This is a fault of einlassctl. Report it with the output of:", "doctor")
    }
  }

  /// Steps for errors of accounts and providers, and for the person's decisions.
  private var signInStep: NextStep? {
    switch reason {
    case "noSystemAccount" where hints("accounts.signIn"):
      NextStep("Sign in there:", "sign-in", data["provider"]?.string ?? "PROVIDER")
    case "tokenNotSaved": signInAgain
    case "reloginNeeded" where isAboutSource: signInToSource
    case "reloginNeeded" where hints("credentials.get"):
      NextStep(
        "Name the resource:", "token", data["hint"]?["params"]?["resource"]?.string ?? "ADDRESS")
    case "reloginNeeded" where hints("accounts.signIn"),
      "notIssuedToThisClient" where hints("accounts.signIn"):
      signInAgain
    case "noSystemAccount": NextStep("Add an account first:", "accounts", "add")
    case "accessNotGranted":
      accessSet
    case "accountBanned":
      NextStep("Ask the provider about the account, or use another one:", "accounts", "list")
    case "reloginNeeded", "notIssuedToThisClient":
      NextStep("Add the account again with its new credential:", "accounts", "add", "--replace")
    // The message names both ways to an assertion, or the remedy for the file.
    case "authenticatorUnconfigured" where data["detail"]?.string == "assertionFile": nil
    case "authenticatorUnconfigured":
      data["detail"]?.string == "configuration"
        ? NextStep("Correct that file, then check again:", "doctor")
        : NextStep(
          "Register an application there and enter its \(missingParts):", "providers", "configure",
          data["provider"]?.string ?? "--help")
    case "networkFailure"
    where data["detail"]?.string == "otherPublicKey" && data["account"] != nil:
      signInAgain
    case "networkFailure":
      NextStep("Check the network connection, the address and the clock, then try again.")
    case "providerFailure":
      data["retryable"]?.bool == true && !message.hasSuffix("Try again later.")
        ? NextStep("Try again later.") : nil
    case "interactionRequired":
      NextStep("Start the command on a terminal and without --no-input, so that it can ask.")
    case "accessDenied": NextStep("Start again and allow it on the provider's page.")
    case "stateMismatch": NextStep("Start again, and use only the page of the new sign-in.")
    case "flowNotSupported": NextStep("Use another provider:", "providers", "list")
    case "throttled" where data["detail"]?.string == "refusedByService":
      NextStep("Check that the account may use it. To try again at once:", signInAgain.command)
    case "throttled": NextStep(waiting)
    case "wrongCredentials":
      NextStep("Start again and enter the name and password of the server.")
    // The message names the assertion's fault and the next step.
    case "verificationFailed" where message.hasPrefix("The assertion "): nil
    case "verificationFailed":
      NextStep("Check the clock. If it is right, do not trust this sign-in; report it.")
    default: NextStep("Start the command again and answer its questions.")
    }
  }

  /// Whether the account with the id_token for an assertion needs a sign-in.
  fileprivate var isAboutSource: Bool { data["detail"]?.string == "assertionSource" }

  /// The missing parts of the registration, in words.
  private var missingParts: String {
    let names = [
      "clientId": "client id", "clientSecret": "client secret", "redirect": "redirect address",
      "privateKey": "private key", "certificate": "certificate",
    ]
    let parts = (data["detail"]?.string ?? "").split(separator: ",").map { name in
      String(name.first == " " ? name.dropFirst() : name)
    }
    return parts.isEmpty ? "client id" : parts.map { names[$0] ?? $0 }.joined(separator: " and ")
  }

  fileprivate func hints(_ method: String) -> Bool {
    data["hint"]?["method"]?.string.map { sameBytes($0, method) } ?? false
  }

  /// The command that signs in to the account again.
  fileprivate var signInAgain: NextStep {
    NextStep(
      "Sign in again:", "sign-in", "--account",
      account ?? data["account"]?.string ?? "ACCOUNT")
  }

  /// The command that makes the decision of the hint.
  private var accessSet: NextStep {
    let wanted = hints("access.set") ? data["hint"]?["params"] : nil
    func options(_ name: String, _ option: String) -> [String] {
      (wanted?[name]?.array ?? []).compactMap(\.string).flatMap { [option, $0] }
    }
    let audience = wanted?["audience"]?.string.map { ["--audience", $0] } ?? []
    let includes = wanted?["includes"]?.array?.isEmpty == false ? ["--refresh-token"] : []
    return NextStep(
      "To allow it:",
      ["access", "set", application, data["provider"]?.string ?? "PROVIDER", "granted"]
        + options("accounts", "--account") + options("permissions", "--permission") + audience
        + includes)
  }

  /// The command that signs in to the account with the id_token for an assertion.
  private var signInToSource: NextStep {
    let wanted = data["hint"]?["params"]
    guard let account = wanted?["account"]?.string else {
      return NextStep("Sign in there:", "sign-in", wanted?["provider"]?.string ?? "PROVIDER")
    }
    let scopes = wanted?["scopes"]?.array?.compactMap(\.string) ?? []
    var step = NextStep("Sign in to that account again:", "sign-in", "--account", account)
    step.command += scopes.flatMap { ["--scope", $0] }
    return step
  }

  private var storeStep: NextStep? {
    switch data["detail"]?.string {
    case "locked": NextStep("Another einlass is using the store: wait a moment, then try again.")
    case "full": NextStep("Free space on the disk, then try again.")
    case "tooManyOpenFiles": NextStep("Raise the limit of open files (ulimit -n), then try again.")
    case "readOnly": NextStep("Make it writable, or name another store with --store.")
    case "corrupt" where Self.remedies.contains(where: message.hasSuffix): nil
    case "corrupt": NextStep("Restore a backup.")
    case "keyUnavailable": .opening(message)
    case "refused" where NextStep.isAboutUnnamedProgram(message): .namingTheProgram
    case "decryptFailed" where data["account"] != nil:
      NextStep("Add that account again:", "accounts", "add", "--replace")
    case "decryptFailed": NextStep("Start the command again with the passphrase of that file.")
    case "unsupportedFileSystem": .localDisk
    case "unreachable": NextStep("See what is wrong:", "doctor")
    default: nil
    }
  }

  /// Endings of messages about a file that the person named. They say the remedy, and the store
  /// itself is undamaged.
  private static let remedies = [
    "name another place.", "written by accounts.export.", "or export again.",
  ]

  /// Steps for errors of the directory of users.
  private var userStep: NextStep {
    switch reason {
    case "userNotFound", "nullUser": NextStep("List the users:", "users", "list")
    case "providerAlreadyLinked":
      NextStep(
        "Unlink that identity first:", "users", "unlink", "USER",
        data["hint"]?["params"]?["provider"]?.string ?? "PROVIDER")
    case "noSuchProvider": NextStep("See the ways to sign in:", "users", "show", "USER")
    case "tooManyRequests": NextStep(waiting)
    case "invalidCredential": NextStep("Sign in at the provider instead.")
    case "requiresRecentLogin": NextStep("Sign in to the application again first.")
    case "wrongPassword", "weakPassword": NextStep("Start again with another password.")
    case "userMismatch", "credentialAlreadyInUse": NextStep("Sign in as that user.")
    case "accountExistsWithDifferentCredential":
      NextStep("Sign in as that user, and link the identity there.")
    default: NextStep("Start again with another e-mail address.")
    }
  }

  /// Steps for names in a request that are unknown or unsuitable.
  private var selectionStep: NextStep {
    switch reason {
    case "unknownProvider": NextStep("List the providers:", "providers", "list")
    case "invalidChoice" where hints("accounts.signIn"): signInAgain
    case "unknownAccount", "invalidChoice": NextStep("List the accounts:", "accounts", "list")
    case "unknownFlow", "unknownPrompt", "promptAlreadyAnswered":
      NextStep("There is nothing left to do, because it has ended.")
    case "reservedParameter": NextStep("Leave that parameter out: einlass sets it itself.")
    case "bindingMismatch" where hints("providers.configure"):
      NextStep(
        "Add a registration for this server:", "providers", "configure",
        data["provider"]?.string ?? "--help")
    case "bindingMismatch":
      NextStep(
        "Use the configuration of the account's sign-in, or add it again:", "accounts",
        "add",
        "--replace")
    case "unsafeURL" where data["detail"]?.string == "notServed":
      NextStep("Choose an account for it:", "services", "add", "ADDRESS", "PROVIDER")
    case "unsafeURL" where data["detail"]?.string == "ambiguous":
      NextStep("Write the path without semicolons and needless % encodings.")
    case "unsafeURL" where data["detail"]?.string == "notPublic":
      NextStep(
        "If it is a server of your network, name it in internalHosts of the configuration file.")
    case "unsafeURL": NextStep("Use an https address.")
    case "accountExists":
      NextStep("Use the existing account, or start the command again with --replace.")
    default: NextStep("For a full check:", "doctor")
    }
  }

  private var waiting: String {
    guard let seconds = data["retryAfterSeconds"]?.int64 else {
      return "Wait a while, then start the command again."
    }
    return "Start the command again in \(counted(JSONValue(seconds), "second"))."
  }
}
