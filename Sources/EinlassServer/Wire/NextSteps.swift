internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// A next step of `error.data.next`: a label, and where it helps a request, a page or a command.
///
/// All words of next steps are in this file and in `NextStepWords.swift`; those that answer a prompt
/// in advance are in `PromptTypes.swift`, those for errors of JSON-RPC itself in
/// `RPCError.Standard.nextStep`.
struct NextStep {
  var label: String
  var method: String?
  var params = JSONObject()
  /// A page of the provider, opened in a browser.
  var page: String?
  /// A command of a shell. It is shown, and never run.
  var command: String?

  init(_ label: String, _ method: String? = nil, _ params: JSONObject = JSONObject()) {
    (self.label, self.method, self.params) = (label, method, params)
  }

  /// Returns the step with a command.
  func showing(_ command: String) -> NextStep {
    var step = self
    step.command = command
    return step
  }

  /// The step on the wire.
  var json: JSONValue {
    .object(
      JSONObject(present: [
        "label": .string(label), "method": method.map(JSONValue.string),
        "params": method.map { _ in .object(params) }, "page": page.map(JSONValue.string),
        "command": command.map(JSONValue.string),
      ]))
  }
}

extension JSONObject {
  /// Adds the members `next`, and `final` if nothing helps.
  mutating func set(next steps: [NextStep]) {
    self["next"] = .array(steps.map(\.json))
    if steps.isEmpty { self["final"] = true }
  }
}

extension Problem {
  /// The next steps, the most useful one first.
  ///
  /// - Parameter application: The one that needs access.
  func nextSteps(for application: String = "") -> [NextStep] {
    var steps = advice.map(NextStep.steps) ?? []
    // The needed prompts name the list of accounts with the question that it answers.
    if let hint, neededPrompts.isEmpty || hint.method != "accounts.list" {
      var step = NextStep(hint)
      if hint.method == "providers.configure", let missingParts {
        step.label = "Register an application at the provider, and enter its \(missingParts)"
      }
      steps.append(step)
      // A program that cannot ask the person needs the decision itself.
      if hint.method == "access.reset" { steps.append(granting(for: application)) }
    }
    steps += neededPrompts.compactMap { inAdvance($0, for: application) }
    let isMore = [.interactionRequired, .tokenNotSaved].contains(reason)
    if steps.isEmpty || isMore { steps += usualSteps }
    guard !steps.isEmpty else { return [] }
    steps[0].command = command ?? steps[0].command
    // A descriptor may name a page by plain http.
    steps[0].page = page.flatMap { $0.hasPrefix("https://") ? $0 : nil }
    return steps
  }

  /// The steps of a problem without a remedy of its own.
  private var usualSteps: [NextStep] {
    switch reason {
    case .accountStoreFailure: storeSteps
    case .cancelled, .internal, .invalidParameter:
      RPCError.Standard(rawValue: reason.word).map { [NextStep($0.nextStep)] } ?? []
    default: reason.code < 17000 ? signInSteps : userSteps
    }
  }

  private var storeSteps: [NextStep] {
    switch detail.flatMap(StoreDetail.init(rawValue:)) {
    case .locked: [NextStep("Wait a moment, then try again")]
    case .full: [NextStep("Free space on the disk, then try again")]
    case .readOnly: [NextStep("Make the store writable, or name another one with --store")]
    case .corrupt: [NextStep("Restore a backup, or move the store away to start afresh")]
    case .tooNew: [NextStep(Advice.updateEinlass.label)]
    case .permissions: [NextStep("Correct the permissions of the file and its folder")]
    case .keyUnavailable: [.openStore]
    case .decryptFailed where account != nil: [.addAgain]
    case .decryptFailed: [NextStep("Restore a backup")]
    case .unsupportedFileSystem:
      [NextStep("Move the store to a disk of this machine, and name it with --store")]
    case .tooManyOpenFiles:
      [NextStep("Raise the limit of open files, then try again").showing("ulimit -n")]
    case .unreachable: [NextStep("Check the database server and the network, then try again")]
    case .refused, nil: [NextStep("Correct the cause, then try again")]
    }
  }

  private var signInSteps: [NextStep] {
    switch reason {
    case .noSystemAccount: [NextStep("Sign in", "accounts.signIn", named(.provider))]
    case .accessNotGranted where detail == "otherApplication": []
    case .accessNotGranted: [NextStep("Try again, and allow the access")]
    case .userCanceledAccountSelection: [NextStep("Try again, and choose an account")]
    case .accountBanned: [NextStep("Ask the provider about the account, or use another one")]
    case .reloginNeeded, .notIssuedToThisClient: [signInAgain]
    case .tokenNotSaved: (detail == nil || advice != nil ? [] : storeSteps) + [signInAgain]
    case .authenticatorUnconfigured:
      // Without a hint the part is there, and cannot be used.
      [
        NextStep(
          missingParts.map { "Store the registration again, with another \($0)" }
            ?? Hint("providers.configure").label, "providers.configure", named(.provider))
      ]
    case .networkFailure where detail == "otherPublicKey":
      // The step has no method, because a client would send it without the check.
      [
        NextStep("Check that the server has a new key, and then sign in again").showing(
          "einlassctl sign-in " + (account.map { "--account \($0.rawValue)" } ?? provider ?? ""))
      ]
    case .networkFailure:
      [NextStep("Check the network connection, the address and the clock, then try again")]
    case .providerFailure:
      [
        NextStep(
          isRetryable
            ? Advice.tryLater.label : "Look at the provider's error, and check the registration")
      ]
    case .interactionRequired:
      [NextStep("Try again where a person can answer")]
    case .userCanceled: [NextStep("Start again, and answer the question")]
    case .accessDenied: [NextStep("Sign in again, and allow it on the provider's page")]
    case .stateMismatch: [NextStep("Sign in again, and use only the page of the new sign-in")]
    case .flowExpired: [NextStep("Start again, with a longer deadline if the time was too short")]
    case .flowNotSupported:
      [NextStep("Use another flow, or another provider", "providers.list")]
    case .wrongCredentials: [NextStep("Enter the user name and the password again")]
    case .throttled: [waiting]
    case .verificationFailed:
      [NextStep("If the clock is right, do not trust this sign-in, and report it")]
    default: selectionSteps
    }
  }

  /// Steps for names in a request that are unknown or unsuitable.
  private var selectionSteps: [NextStep] {
    switch reason {
    case .unknownProvider: [NextStep(Hint("providers.list").label, "providers.list")]
    case .unknownAccount: [NextStep(Hint("accounts.list").label, "accounts.list")]
    case .invalidChoice: [NextStep("Choose one of those that were offered")]
    case .reservedParameter: [NextStep("Leave the parameter out")]
    case .bindingMismatch:
      [
        NextStep(Advice.useOtherConfiguration.label),
        .addAgain,
      ]
    case .unsafeURL where detail == "notServed":
      [
        NextStep("Choose an account for the address").showing(
          "einlassctl services add ADDRESS PROVIDER")
      ]
    case .unsafeURL where detail == "ambiguous":
      [NextStep("Write the path without semicolons and needless % encodings")]
    case .unsafeURL where detail == "notPublic":
      [
        NextStep(
          "If it is a server of your network, name it in internalHosts of the configuration file")
      ]
    case .unsafeURL: [NextStep("Use an https address")]
    case .accountExists:
      [NextStep("Use the stored account, or replace it", "accounts.add", ["replace": true])]
    // The flow or the prompt has ended.
    default: []
    }
  }

  /// Steps for errors of the directory of users.
  private var userSteps: [NextStep] {
    switch reason {
    case .invalidCredential: [NextStep("Sign in at the provider again")]
    case .emailAlreadyInUse: [NextStep("Sign in as that user, or use another address")]
    case .invalidEmail, .missingEmail: [NextStep("Enter an address such as ada@example.com")]
    case .wrongPassword: [NextStep("Enter the password again")]
    case .weakPassword: [NextStep("Choose a longer password")]
    case .tooManyRequests: [waiting]
    case .userNotFound: [NextStep("Choose one of the users", "users.list")]
    case .accountExistsWithDifferentCredential:
      [NextStep("Sign in as that user with one of the named providers")]
    case .requiresRecentLogin:
      [NextStep(Hint("users.reauthenticate").label, "users.reauthenticate")]
    case .providerAlreadyLinked: [NextStep(Hint("users.unlink").label, "users.unlink")]
    case .noSuchProvider: [NextStep("Choose a provider of the user's identities", "users.current")]
    case .userMismatch: [NextStep("Sign in as the current user, or sign that user out first")]
    case .credentialAlreadyInUse, .nullUser:
      [NextStep(Hint("users.signIn").label, "users.signIn")]
    default: []
    }
  }

  private var signInAgain: NextStep {
    NextStep("Sign in to the account again", "accounts.signIn", named(.account, .provider))
  }

  private var waiting: NextStep {
    NextStep(
      retryAfterSeconds.map { "Try again in \($0) second\($0 == 1 ? "" : "s")" }
        ?? "Wait a few minutes, then try again")
  }

  /// The missing parts of a registration in words; `nil` for another problem with it.
  private var missingParts: String? {
    guard reason == .authenticatorUnconfigured else { return nil }
    let words: [Provider.RegistrationPart: String] = [
      .clientID: "client id", .clientSecret: "client secret", .redirect: "redirect address",
      .privateKey: "private key", .certificate: "certificate",
    ]
    let parts = Provider.RegistrationPart.allCases.filter { part in
      (detail ?? "").split(separator: ",").contains { $0.drop { $0 == " " } == part.rawValue }
    }
    return parts.isEmpty ? nil : parts.compactMap { words[$0] }.joined(separator: " and ")
  }

  private enum Name {
    case account, provider
  }

  /// Returns the known ones of these names as params.
  private func named(_ names: Name...) -> JSONObject {
    JSONObject(present: [
      "account": names.contains(.account)
        ? account.map { JSONValue.string($0.rawValue) } : nil,
      "provider": names.contains(.provider) ? provider.map(JSONValue.string) : nil,
    ])
  }
}

extension Account {
  /// The next steps of an account that needs a sign-in or does not work.
  ///
  /// - Parameter place: Its provider; `nil` if the catalogue has none of that id. It is read only for
  ///   an account with a step, because a list of accounts is read often.
  func nextSteps(at place: @autoclosure () -> Provider?) -> [NextStep] {
    var step: NextStep
    switch health {
    case .banned:
      step = NextStep("Ask the provider about the account, or use another one")
      step.page = place()?.homepage
    case .locked:
      step = NextStep(Problem.Advice.unlockOnWeb.label)
      step.page = place()?.homepage
    case .ok where isSignedIn && !hasRefusedRefresh: return []
    case .ok, .reloginNeeded:
      let canSignIn = place()?.signInKind(asking: Set(Prompt.Kind.allCases)) != nil
      var hint = Problem.Hint(
        canSignIn ? "accounts.signIn" : "accounts.add", ["provider": provider],
        replaces: !canSignIn)
      if canSignIn { hint.parameters["account"] = id.rawValue }
      step = NextStep(hint)
    }
    return [step]
  }
}

extension Revocation.Remainder {
  /// The next steps; `nil` if there is none.
  var nextSteps: [NextStep]? {
    guard advice != nil || hint != nil else { return nil }
    return Problem(
      .authenticatorUnconfigured, reason, advice: advice, detail: missing, hint: hint
    ).nextSteps()
  }
}

extension StoreMaintenance.Finding {
  /// The next steps.
  var nextSteps: [NextStep] {
    if let advice {
      var steps = NextStep.steps(advice)
      steps[0].command = command ?? steps[0].command
      return steps
    }
    return switch kind {
    case .keyUnavailable: [.openStore]
    case .bindingMismatch where account != nil, .undecryptable where account != nil: [.addAgain]
    case .damage, .orphan, .bindingMismatch, .undecryptable: [NextStep("Restore an earlier backup")]
    }
  }
}

extension StoreMaintenance.Status {
  /// The next steps for what is not well.
  var nextSteps: [NextStep] {
    var steps: [NextStep] = []
    if isReadOnly {
      steps.append(NextStep("Make the store writable, or name another one with --store"))
    }
    if holder != nil { steps.append(NextStep("Check why that process is stuck, or end it")) }
    if database?.isDurable == false {
      steps.append(
        NextStep("Let its operator set fsync, full_page_writes and synchronous_commit to on"))
    }
    if database?.standby == .asynchronous {
      steps.append(NextStep("Let its operator set synchronous_standby_names"))
    }
    return steps
  }
}

extension NextStep {
  static let openStore = NextStep(
    "Provide the key or the passphrase of one of its key slots", "store.status")
  static let addAgain = NextStep("Add the account again", "accounts.add", ["replace": true])

  /// Returns the steps of advice.
  fileprivate static func steps(_ advice: Problem.Advice) -> [NextStep] {
    let step = NextStep(advice.label)
    return switch advice {
    case .nameKeyCommand:
      [step, NextStep("See the place of that file").showing("einlassctl doctor")]
    case .unlockStore: [step.showing("einlassctl store unlock --for 8h")]
    default: [step]
    }
  }

  /// Makes the step of a request that solves the problem.
  fileprivate init(_ hint: Problem.Hint) {
    let params = hint.parameters.sorted { $0.key < $1.key }.map {
      ($0.key, JSONValue.string($0.value))
    }
    let lists = hint.lists.filter { !$0.value.isEmpty && $0.key != "nearest" }
      .sorted { $0.key < $1.key }.map { ($0.key, JSONValue($0.value)) }
    let replace = hint.replaces ? [("replace", JSONValue.bool(true))] : []
    self.init(hint.label, hint.method, JSONObject(params + lists + replace))
  }
}

extension Problem.Hint {
  /// The words of the step.
  var label: String {
    if let nearest = lists["nearest"], !nearest.isEmpty {
      return "Did you mean \(nearest.joined(separator: " or "))?"
    }
    return switch method {
    case "access.reset": "Forget the earlier answer, to be asked again"
    case "access.set": "Allow the access"
    case "accounts.add":
      replaces
        ? "Add the account again with its new credential" : "Add an account with its credential"
    case "accounts.export": "If it is an export, overwrite it"
    case "accounts.list": "Choose one of the accounts"
    case "accounts.signIn":
      parameters["account"] == nil ? "Sign in" : "Sign in to the account again"
    case "auth.list": "Choose one of the running flows"
    case "auth.perform": "Sign in from this application"
    case "credentials.get": "Name the resource of the token"
    case "prompt.list": "Choose one of the open prompts"
    case "providers.configure":
      "Register an application at the provider, and store its registration"
    case "providers.list": "Choose one of the providers"
    case "store.rotateKey": "Rotate the key of the store"
    case "users.link": "Sign in as that user, then link this identity"
    case "users.reauthenticate": "Let the person sign in again"
    case "users.signIn":
      parameters["pendingCredential"] == nil ? "Sign a user in" : "Sign in as that user"
    case "users.unlink": "Unlink that identity first"
    default: method
    }
  }
}

extension Problem {
  /// The step that allows the application the access.
  func granting(for application: String) -> NextStep {
    NextStep(
      Hint("access.set").label, "access.set",
      JSONObject(present: [
        "application": application.isEmpty ? nil : .string(application),
        "provider": provider.map(JSONValue.string), "state": "granted",
      ]))
  }
}
