internal import Einlass
internal import EinlassJSON

/// The words of `show` of all prompts. No front end has any of its own for them.
extension PromptForm {
  init(_ prompt: Prompt, of flow: PendingRequest) {
    self =
      switch prompt {
      case .grantAccess(let permissions, let audience, let added, let includes):
        .access(permissions, audience, added: added, includes: includes, flow)
      case .selectAccount(let accounts, let more):
        .accounts(
          "Which \(flow.providerName) account may \(flow.shownApplication) use?", accounts,
          more: more, fields: more ? [Field(name: "account", label: "Id of another account")] : [],
          buttons: (more ? [.accept("Another account", isDefault: false)] : []) + [.cancel()])
      case .replaceAccount(let accounts, let more):
        .accounts(
          """
          You signed in at \(flow.providerName) for \(flow.shownApplication). \
          Is this a new account, or one of these?
          """, accounts, more: more, buttons: [.accept("A new account"), .cancel()])
      case .confirmAccount(let account):
        PromptForm(
          title: "Continue as \(account.shownName)?",
          text: [
            account.displayName.map { _ -> Words in "User name: \(account.loginName)." },
            "\(flow.shownApplication) wants to use your \(flow.providerName) account.",
          ].compactMap(\.self),
          buttons: [.accept(), .cancel()])
      case .openURL(let address, let returningTo):
        .page(address, returningTo: returningTo, flow)
      case .deviceCode(let page, _, let userCode, _):
        PromptForm(
          title: "Enter this code at \(whole: page.host), on any device.",
          text: flow.purpose(at: page.host),
          warnings: [
            "Enter only a code that \(flow.shownApplication) shows on a machine of yours."
          ],
          page: page, code: Words(foreign: userCode).label(in: .english), buttons: [.cancel()])
      case .enterVerifier(let verifier, let isAgain, let returningTo):
        .verifier(verifier, isAgain: isAgain, returningTo: returningTo, flow)
      case .enterPassphrase(let wanted): .passphrase(wanted, flow)
      case .enterPassword(let login): .password(login, flow)
      case .trustCertificate(let trust): .certificate(trust, flow)
      }
  }

  private static func access(
    _ permissions: [String], _ audience: AccessGrant.Audience?, added: [String],
    includes: [AccessGrant.Inclusion], _ flow: PendingRequest
  ) -> PromptForm {
    let rights = permissions.map { permission -> Words in
      let isNew = added.count < permissions.count && added.contains { sameBytes($0, permission) }
      return isNew
        ? "It asks for \(whole: permission), which is new." : "It asks for \(whole: permission)."
    }
    let lasts: Words? = includes.contains(.refreshToken) ? "It gets lasting access." : nil
    return PromptForm(
      title: "\(flow.shownApplication) wants to use your \(flow.providerName) accounts.",
      text: rights + [audience?.words, lasts].compactMap(\.self),
      buttons: [
        .accept("Allow", isDefault: false),
        Button(action: "decline", label: "Don't allow, and remember it"), .cancel("Not now"),
      ])
  }

  private static func accounts(
    _ title: Words, _ accounts: [Account], more: Bool, fields: [Field] = [], buttons: [Button]
  ) -> PromptForm {
    PromptForm(
      title: title, text: more ? ["There are more accounts than these."] : [],
      choices: accounts.map(Choice.init), fields: fields, buttons: buttons)
  }

  private static func page(
    _ address: WebAddress, returningTo: String?, _ flow: PendingRequest
  ) -> PromptForm {
    var form = PromptForm(
      title: "Sign in at \(whole: address.host) in your browser.",
      text: flow.purpose(at: address.host), page: address, buttons: [.accept(), .cancel()])
    if let returningTo {
      form.text.append(
        "The browser ends at \(whole: returningTo), which may be a page that does not load.")
      form.fields = [Field(name: "redirectURL", label: "The whole address of that page")]
    }
    return form
  }

  private static func verifier(
    _ verifier: Prompt.Verifier, isAgain: Bool, returningTo: String?, _ flow: PendingRequest
  ) -> PromptForm {
    // The page of the sign-in, which stands beside this question, says who asks.
    let byItself: Words? =
      returningTo == nil
      ? "The sign-in goes on by itself if the browser is on this machine." : nil
    return switch verifier {
    case .redirectURL:
      PromptForm(
        title: "Does the last page not load? Then paste its address.",
        text: [byItself].compactMap(\.self),
        warnings: isAgain
          ? ["That does not fit. The whole address begins with \(whole: returningTo ?? "http://")."]
          : [],
        fields: [Field(name: "text", label: "The address in the browser")],
        buttons: [.accept(), .cancel()])
    case .pin:
      PromptForm(
        title: "Enter the code that the page of \(flow.providerName) shows.",
        text: ["\(flow.shownApplication) asks for it."],
        warnings: isAgain ? ["That does not fit."] : [],
        fields: [Field(name: "text", label: "Code")], buttons: [.accept(), .cancel()])
    }
  }

  private static func passphrase(_ wanted: Prompt.Passphrase, _ flow: PendingRequest) -> PromptForm
  {
    let title: Words =
      switch (wanted.purpose, wanted.isNew) {
      case (.keySlot, true): "Choose a passphrase for the account store."
      case (.keySlot, false): "Enter the passphrase of the account store."
      case (.export, _), (.import, true): "Choose a passphrase for the file."
      case (.import, false): "Enter the passphrase of the file."
      }
    let path = wanted.path.map { path -> Words in "\(whole: path)." }
    let strength: Words? = wanted.isLong ? "It needs at least twelve characters." : nil
    return PromptForm(
      title: title,
      text: [path, strength, "\(flow.shownApplication) asks for it."].compactMap(\.self),
      warnings: wanted.isAgain ? ["That passphrase does not fit."] : [],
      fields: [
        Field(name: "passphrase", label: "Passphrase", kind: .secret, isTwice: wanted.isNew)
      ], buttons: [.accept(), .cancel()])
  }

  private static func password(_ login: Prompt.Login, _ flow: PendingRequest) -> PromptForm {
    let username = login.username.map { name -> Words in " as \(name)" } ?? ""
    var form = PromptForm(
      title: "Log in at \(whole: login.server)\(username).", text: flow.purpose(at: login.host),
      fields: [Field(name: "password", label: "Password", kind: .secret)],
      buttons: [.accept(), .cancel()])
    if login.isAgain { form.warnings.append("The server refused that user name or password.") }
    if !login.isSafe {
      form.warnings.append("Others on the way to this server can read the password.")
    }
    if login.username == nil {
      form.fields.insert(Field(name: "username", label: "User name"), at: 0)
    }
    if login.mayRemember {
      form.fields.append(Field(name: "remember", label: "Remember the password", kind: .flag))
    }
    return form
  }

  private static func certificate(_ trust: Prompt.Trust, _ flow: PendingRequest) -> PromptForm {
    let fault: Words =
      switch trust.certificate.fault {
      case nil: "is trusted"
      case .selfSigned: "is certified by nobody but itself"
      case .unknownAuthority: "comes from an unknown authority"
      case .expired: "has expired"
      case .notYetValid: "is not valid yet"
      case .otherHost: "belongs to another host"
      case .untrusted: "is not trusted"
      }
    let former = trust.formerPublicKey.map { key -> Words in "Its key before: \(whole: key)." }
    let end = Words(stringLiteral: day(trust.certificate.endsAt))
    return PromptForm(
      title: "Trust \(whole: trust.server)?",
      text: [
        "Its certificate \(fault).", "The end of its validity: \(end).", former,
        "Its key: \(whole: trust.certificate.publicKey).",
        "Compare the key with that of your server before you accept it.",
        "\(flow.shownApplication) asks for it.",
      ].compactMap(\.self),
      warnings: former == nil ? [] : ["The server has another key than before."],
      buttons: [
        .accept("Trust this key", isDefault: false), .cancel("Send nothing", isDefault: true),
      ])
  }
}

extension PromptForm.Choice {
  /// An account of a list.
  init(_ account: Account) {
    var details: [Words] = []
    if account.displayName != nil { details.append("\(account.loginName)") }
    switch account.health {
    case .ok: break
    case .reloginNeeded: details.append("must sign in again")
    case .banned: details.append("suspended by the provider")
    case .locked: details.append("locked by the provider")
    }
    self.init(
      label: Words(foreign: account.shownName),
      detail: details.isEmpty ? nil : .joined(details, by: ", "),
      answer: ["action": "accept", "account": .string(account.id.rawValue)])
  }
}

extension Account {
  fileprivate var shownName: String { displayName ?? loginName }

  /// The user name, with its server if that is one of the person's own.
  fileprivate var loginName: String {
    if let subject, subject.hasPrefix("\(username)@") { subject } else { username }
  }
}

extension AccessGrant.Audience {
  fileprivate var words: Words {
    switch self {
    case .onlyMe: "Only you see its posts."
    case .friends: "Your friends see its posts."
    case .everyone: "Everyone sees its posts."
    }
  }
}

extension PendingRequest {
  fileprivate var shownApplication: String { applicationTitle ?? application }

  /// Returns the sentences about the program that a sign-in is for, its rights, and a resource that
  /// has chosen the page.
  fileprivate func purpose(at host: String) -> [Words] {
    var sentences: [Words] = []
    if let resource {
      sentences = [
        "\(shownApplication) asks for a token for \(whole: resource).",
        "This resource chose the place of the sign-in: \(whole: host).",
      ]
    }
    guard let grant else {
      return sentences.isEmpty
        ? ["\(shownApplication) asks for your \(providerName) account."] : sentences
    }
    let rights = Words.joined(grant.permissions.map { "\(whole: $0)" }, by: ", ")
    sentences.append(
      grant.permissions.isEmpty
        ? "After the sign-in, \(shownApplication) may use your \(providerName) account."
        : "After the sign-in, \(shownApplication) may use your \(providerName) account, with \(rights)."
    )
    return sentences + [grant.audience?.words].compactMap(\.self)
  }
}
