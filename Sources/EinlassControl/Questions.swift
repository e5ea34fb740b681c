internal import EinlassHelpers
internal import EinlassJSON

/// The prompts of the protocol as questions on the terminal (protocol/README.md, "Prompts").
struct Questions {
  /// The prompt kinds sent as capabilities in `initialize`.
  static let kinds = [
    "grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode",
    "enterVerifier", "enterPassphrase", "enterPassword", "trustCertificate",
  ]

  let person: Person
  /// Whether an `openURL` prompt starts a browser.
  let opensBrowser: Bool

  /// Returns the parameters of `prompt.answer`; `nil` if the prompt has closed or stays open.
  func answer(_ prompt: JSONObject) throws(Failure) -> JSONObject? {
    guard let id = prompt["prompt"]?.string else { return nil }
    var answer: JSONObject?
    do throws(Failure) {
      answer =
        switch prompt["kind"]?.string {
        case "grantAccess": try grantAccess(prompt, id)
        case "selectAccount": try selectAccount(prompt, id)
        case "confirmAccount": try confirmAccount(prompt, id)
        case "replaceAccount": try replaceAccount(prompt, id)
        case "openURL": openURL(prompt)
        case "deviceCode": deviceCode(prompt)
        case "enterVerifier": try enterVerifier(prompt, id)
        case "enterPassphrase": try enterPassphrase(prompt, id)
        case "enterPassword": try enterPassword(prompt, id)
        case "trustCertificate": try trustCertificate(prompt, id)
        default: ["action": "cancel"]
        }
    } catch .cancelled {
      person.hasGivenUp = true
      answer = ["action": "cancel"]
    }
    answer?["prompt"] = .string(id)
    return answer
  }

  private func grantAccess(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let who = text(prompt["applicationTitle"] ?? prompt["application"])
    person.show("\(who) wants to use your \(text(prompt["providerName"])) accounts.")
    for name in ["permissions", "audience", "added", "includes"] {
      if let value = prompt[name] { person.show("  \(name): \(text(value))") }
    }
    let rows = ["Allow it", "Deny it, and remember that", "Decide later"]
    guard let choice = try person.choice("Allow it?", rows, prompt: id) else { return nil }
    return ["action": .string(["accept", "decline", "cancel"][choice])]
  }

  private func selectAccount(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let accounts = (prompt["accounts"]?.array ?? []).compactMap(Account.init)
    let rows = Account.rows(accounts)
    guard let choice = try person.choice("Which account?", rows, prompt: id) else { return nil }
    return ["action": "accept", "account": .string(accounts[choice].id)]
  }

  private func confirmAccount(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let account = prompt["accounts"]?.array?.first.flatMap(Account.init)
    let rows = ["Yes", "No"]
    let question = "Use \(account?.title ?? "this account")?"
    guard let choice = try person.choice(question, rows, prompt: id) else { return nil }
    return ["action": .string(["accept", "decline"][choice])]
  }

  private func replaceAccount(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let accounts = (prompt["accounts"]?.array ?? []).compactMap(Account.init)
    person.show("\(text(prompt["providerName"])) does not identify the account of this sign-in.")
    let rows = ["None, it is a new account"] + Account.rows(accounts)
    let question = "Replace the credential of which account?"
    guard let choice = try person.choice(question, rows, prompt: id) else { return nil }
    return JSONObject(present: [
      "action": "accept", "account": choice > 0 ? .string(accounts[choice - 1].id) : nil,
    ])
  }

  /// Names the other application that the sign-in grants the account.
  private func showGrant(_ prompt: JSONObject) {
    guard prompt["grantsAccess"]?.bool == true, prompt["application"]?.string != "einlassctl" else {
      return
    }
    let name = text(prompt["applicationTitle"] ?? prompt["application"])
    let permissions = (prompt["permissions"]?.array ?? []).map { text($0) }
    let rights = permissions.isEmpty ? "" : ", with \(permissions.joined(separator: ", "))"
    person.show("After the sign-in, \(name) may use the account\(rights).")
  }

  /// Shows the application and the resource, and warns that the resource chose the place of the
  /// sign-in.
  private func showResource(_ prompt: JSONObject) {
    guard let resource = prompt["resource"] else { return }
    let who = text(prompt["applicationTitle"] ?? prompt["application"])
    person.show(
      """
      \(who) asks for a token for \(text(resource)).
      This resource chose the page of the sign-in: \(text(prompt["host"] ?? prompt["providerName"])).
      """)
  }

  private func openURL(_ prompt: JSONObject) -> JSONObject? {
    showResource(prompt)
    showGrant(prompt)
    let address = text(prompt["url"])
    if opensBrowser, Browser.open(address) {
      person.show("Your browser opens this page; if it does not, open it yourself:\n  \(address)")
    } else {
      person.show("Open this page in a browser:\n  \(address)")
    }
    guard let place = prompt["returningTo"] else { return ["action": "accept"] }
    // No listener waits at the redirect address. The `enterVerifier` prompt asks for the page's
    // address.
    person.show("The browser ends on \(text(place)). It may show that the page can't be reached.")
    return nil
  }

  private func deviceCode(_ prompt: JSONObject) -> JSONObject {
    showResource(prompt)
    showGrant(prompt)
    person.show(Self.deviceCode(prompt, person.style))
    return ["action": "accept"]
  }

  /// Returns the instructions for a device code.
  static func deviceCode(_ prompt: JSONObject, _ style: Style) -> String {
    """
    Open this page in a browser, on any device:
      \(clean(prompt["verificationUri"]?.plain ?? ""))
    and enter this code there:
      \(style.tinted(clean(prompt["userCode"]?.plain ?? ""), .heading))
    The sign-in continues after that; Ctrl-C cancels it.
    """
  }

  private func enterVerifier(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let question =
      switch prompt["expects"]?.string {
      case "redirectURL" where prompt["returningTo"] != nil:
        "Paste the whole address of that page here:"
      case "redirectURL":
        "Waiting for the browser. On another machine it ends on a page that can't be reached: paste the address of that page here:"
      case "pin": "The PIN that the page shows:"
      default: "The code that the page shows:"
      }
    let isAddress = prompt["expects"]?.string == "redirectURL"
    if prompt["again"]?.bool == true {
      let beginning = prompt["returningTo"].map(text) ?? "http://"
      let expected = " Paste the whole address, which begins with \(beginning)."
      person.show("That is wrong or incomplete." + (isAddress ? expected : ""))
    }
    while let line = try person.line(question, prompt: id) {
      let text = isAddress ? unwrapped(line) : line
      // An empty line is asked for again.
      if !text.allSatisfy(\.isWhitespace) { return ["action": "accept", "text": .string(text)] }
    }
    return nil
  }

  private func enterPassphrase(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let isNew = prompt["new"]?.bool == true
    if prompt["again"]?.bool == true { person.show("That passphrase is wrong.") }
    let path = prompt["path"].map { " \(text($0))" } ?? ""
    let subject =
      switch prompt["purpose"]?.string {
      case "keySlot": "opens the store\(path)"
      case "export", "import": "opens\(path)"
      default: text(prompt["purpose"])
      }
    let question = "\(isNew ? "New passphrase" : "Passphrase") (\(subject)):"
    while let passphrase = try person.line(question, isHidden: true, prompt: id) {
      guard (1...1024).contains(passphrase.utf8.count) else {
        person.show("A passphrase has 1 to 1024 bytes.")
        continue
      }
      if isNew {
        guard let second = try person.line("Once more:", isHidden: true, prompt: id) else { break }
        guard sameBytes(passphrase, second) else {
          person.show("The two passphrases differ.")
          continue
        }
      }
      return ["action": "accept", "passphrase": .string(passphrase)]
    }
    return nil
  }

  private func enterPassword(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    if prompt["again"]?.bool == true {
      person.show("The server refused that user name or password.")
    } else {
      showGrant(prompt)
    }
    let server = text(prompt["server"])
    if prompt["secure"]?.bool == false {
      person.show("The password goes to \(server) by plain http: others on the way can read it.")
    }
    var username = prompt["username"]?.string
    if username == nil {
      username = try person.line("User name at \(server):", prompt: id)
      guard username != nil else { return nil }
    }
    let name = clean(username ?? "")
    while let password = try person.line(
      "Password of \(name) at \(server):", isHidden: true, prompt: id)
    {
      guard (1...1024).contains(password.utf8.count) else {
        person.show("A password has 1 to 1024 bytes.")
        continue
      }
      return [
        "action": "accept", "username": .string(username ?? ""), "password": .string(password),
      ]
    }
    return nil
  }

  private func trustCertificate(_ prompt: JSONObject, _ id: String) throws(Failure) -> JSONObject? {
    let host = text(prompt["host"])
    let fault =
      switch prompt["fault"]?.string {
      case nil: "is trusted, but it has another key than before"
      case "selfSigned": "is not certified by anyone but itself"
      case "unknownAuthority": "comes from an unknown authority"
      case "expired": "has expired"
      case "notYetValid": "is not valid yet"
      case "otherHost": "belongs to another host"
      default: "is not trusted"
      }
    person.show("The certificate of \(host), port \(text(prompt["port"])), \(fault).")
    if let former = prompt["formerPublicKey"] {
      person.show("  accepted before: \(text(former))")
    }
    person.show("  its public key:  \(text(prompt["publicKey"]))")
    if let end = prompt["certificateEndsAt"]?.int64 {
      person.show("  valid until:     \(day(end))")
    }
    person.show("Compare the key with that of your server before you accept it.")
    let rows = ["No, send nothing", "Yes, accept this key for this account"]
    guard let choice = try person.choice("Trust \(host)?", rows, prompt: id) else { return nil }
    return ["action": .string(["cancel", "accept"][choice])]
  }

  private func text(_ value: JSONValue?) -> String { clean(value?.plain ?? "") }
}

/// Returns an address without the blanks, quotes and angle brackets that mail programs and shells
/// put around it.
func unwrapped(_ text: String) -> String {
  var text = text[...]
  while let first = text.first, first.isWhitespace || "\"'<`“‘".contains(first) {
    text.removeFirst()
  }
  while let last = text.last, last.isWhitespace || "\"'>`”’".contains(last) { text.removeLast() }
  return String(text)
}
