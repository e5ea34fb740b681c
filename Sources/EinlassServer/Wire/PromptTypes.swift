internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

// The members and the answers of each prompt. Its words are in `PromptForms.swift`.

/// The members of a prompt in `prompt.opened` and `prompt.list`.
let promptFields: [Field] = [
  .required("prompt", .identifier, "The prompt's id."),
  .required("flows", .array(.identifier, max: nil), "The flows that wait for it."),
  .optional("requests", .array(.any, max: nil), "The ids of the requests that wait for it."),
  .required("kind", Schema(Prompt.Kind.self), "The kind of prompt."),
  .required("application", .identifier, "The requesting application."),
  .optional("applicationTitle", .string(maxBytes: nil), "The requesting application, for people."),
  .optional(
    "provider", .identifier,
    "The provider of the accounts; missing for a passphrase that no flow needs."),
  .optional("providerName", .string(maxBytes: nil), "The provider, for people."),
  .optional("resource", .string(maxBytes: nil), "The protected resource that a sign-in is for."),
  .required(
    "expiresAt", .unixTime,
    "The time at which the last waiting request gives up; for deviceCode, the end of the code."),
  .required(
    "show", .reference("PromptForm"), "The prompt as a form, which any front end can draw."),
  .optional("accounts", .array(.reference("Account"), max: 100), "The offered accounts."),
  .optional("more", .boolean, "true: any other account of the provider is a valid answer too."),
  .permissions, .audience, .includes,
  .optional("url", .string(maxBytes: nil), "The page for the person's browser."),
  .optional("host", .string(maxBytes: nil), "The host of the page, to be shown."),
  .optional("verificationUri", .string(maxBytes: nil), "The page for the code."),
  .optional("verificationUriComplete", .string(maxBytes: nil), "The same with the code in it."),
  .optional("userCode", .string(maxBytes: nil), "The code to enter there."),
  .optional(
    "returningTo", .string(maxBytes: nil),
    "The redirect address: the front end intercepts it, or asks the person to paste it, and answers with redirectURL."
  ),
  .optional("expects", Schema(Prompt.Verifier.self), "The kind of text to enter."),
  .optional("added", .array(.identifier, max: nil), "The permissions beyond an existing grant."),
  .optional(
    "grantsAccess", .boolean, "true: the sign-in grants the application access to the account."),
  .optional("server", .string(maxBytes: nil), "The origin that gets the password."),
  .optional("secure", .boolean, "false: others on the way can read the password."),
  .optional("port", .integer(1...65535), "The port of the server."),
  .optional(
    "publicKey", .string(maxBytes: nil), "The public key of the certificate: sha256// and base64."),
  .optional(
    "fault", Schema(ServerCertificate.Fault.self),
    "The reason why the certificate is not trusted; missing for a trusted one."),
  .optional("certificateEndsAt", .unixTime, "The end of the certificate's validity."),
  .optional(
    "formerPublicKey", .string(maxBytes: nil), "The accepted public key that has changed."),
  .optional(
    "username", .string(maxBytes: nil), "The user name to use; the person enters it when missing."),
  .optional("purpose", Schema(Prompt.Passphrase.Purpose.self), "The purpose of the passphrase."),
  .optional("path", .string(maxBytes: nil), "The file of the passphrase."),
  .optional("new", .boolean, "true: the passphrase is chosen now, so have it entered twice."),
  .optional("again", .boolean, "true: the entry before did not fit, or the server refused it."),
  .optional(
    "mayRemember", .boolean, "The password may be kept for new sessions without the person."),
]

extension Schema {
  /// A prompt, with the members of its kind.
  static let prompt = Schema.tagged(
    by: "kind",
    Prompt.Kind.allCases.map { kind in
      let (required, optional) = kind.members
      let own = required.map { Field.ofPrompt($0, isRequired: true) }
      return (kind.rawValue, commonFields + own + optional.map { .ofPrompt($0) })
    })

  /// A prompt that could not be shown: the members of its kind, unless the request did not get as
  /// far as its question.
  static let neededPrompt = Schema.object(
    [
      .required("kind", Schema(Prompt.Kind.self), "The kind of prompt."),
      .optional(
        "parameter", .identifier,
        "The parameter that answers it in advance; server.trustedPublicKey is a member of server."),
      .optional("method", .identifier, "The method that answers it in advance."),
      .optional("option", .identifier, "The option of einlass that answers it in advance."),
    ] + promptFields.map(\.name).filter { !commonNames.contains($0) }.map { .ofPrompt($0) })
}

private let commonNames = [
  "prompt", "flows", "requests", "kind", "application", "applicationTitle", "provider",
  "providerName", "resource", "show",
]

/// The members of every kind. `expiresAt` is among those of a kind because of `deviceCode`.
private let commonFields =
  promptFields.filter { commonNames.contains($0.name) && $0.name != "kind" }
  + [.ofPrompt("expiresAt", isRequired: true)]

extension Field {
  /// The member of a prompt with this name.
  fileprivate static func ofPrompt(_ name: String, isRequired: Bool = false) -> Field {
    guard var field = promptFields.first(where: { $0.name == name }) else {
      return .optional(name, .any, "")
    }
    field.isRequired = isRequired
    return field
  }
}

extension Prompt.Kind {
  /// The members of a sign-in that grants access.
  private static let grantMembers = ["grantsAccess", "permissions", "audience"]

  /// The members of a prompt of this kind, as `Prompt.wireMembers(for:)` makes them.
  fileprivate var members: (required: [String], optional: [String]) {
    switch self {
    case .grantAccess: (["permissions", "added"], ["audience", "includes"])
    case .selectAccount, .replaceAccount: (["accounts"], ["more"])
    case .confirmAccount: (["accounts"], [])
    case .openURL: (["url", "host"], ["returningTo"] + Self.grantMembers)
    case .deviceCode:
      (
        ["verificationUri", "host", "userCode"], ["verificationUriComplete"] + Self.grantMembers
      )
    case .enterVerifier: (["expects"], ["again", "returningTo"] + Self.grantMembers)
    case .enterPassphrase: (["purpose"], ["path", "new", "again"])
    case .enterPassword:
      (
        ["server", "host"],
        ["username", "again", "mayRemember", "secure"] + Self.grantMembers
      )
    case .trustCertificate:
      (
        ["server", "host", "port", "publicKey", "certificateEndsAt"], ["fault", "formerPublicKey"]
      )
    }
  }
}

extension Prompt {
  /// Returns the members of `prompt.opened` that depend on the kind.
  func wireMembers(for application: String) -> JSONObject {
    switch self {
    case .grantAccess(let permissions, let audience, let added, let includes):
      JSONObject(present: [
        "permissions": JSONValue(permissions),
        "audience": audience.map { .string($0.rawValue) },
        "added": JSONValue(added),
        "includes": includes.isEmpty ? nil : JSONValue(includes.map(\.rawValue)),
      ])
    case .selectAccount(let accounts, let more), .replaceAccount(let accounts, let more):
      JSONObject(present: [
        "accounts": .array(accounts.map { JSONValue($0, for: application) }),
        "more": more ? true : nil,
      ])
    case .confirmAccount(let account):
      ["accounts": [JSONValue(account, for: application)]]
    case .openURL(let address, let returningTo):
      JSONObject(present: [
        "url": .string(address.text), "host": .string(address.host),
        "returningTo": returningTo.map(JSONValue.string),
      ])
    case .deviceCode(let page, let wholePage, let userCode, let expiresAt):
      JSONObject(present: [
        "verificationUri": .string(page.text), "host": .string(page.host),
        "verificationUriComplete": wholePage.map { .string($0.text) },
        "userCode": .string(userCode), "expiresAt": JSONValue(expiresAt),
      ])
    case .enterVerifier(let verifier, let isAgain, let returningTo):
      JSONObject(present: [
        "expects": .string(verifier.rawValue), "again": isAgain ? true : nil,
        "returningTo": returningTo.map(JSONValue.string),
      ])
    case .enterPassphrase(let wanted):
      JSONObject(present: [
        "purpose": .string(wanted.purpose.rawValue), "path": wanted.path.map(JSONValue.string),
        "new": wanted.isNew ? true : nil, "again": wanted.isAgain ? true : nil,
      ])
    case .enterPassword(let login):
      JSONObject(present: [
        "server": .string(login.server), "host": .string(login.host),
        "username": login.username.map(JSONValue.string), "again": login.isAgain ? true : nil,
        "mayRemember": login.mayRemember ? true : nil,
        "secure": login.isSafe ? nil : false,
      ])
    case .trustCertificate(let trust):
      JSONObject(present: [
        "server": .string(trust.server), "host": .string(trust.host),
        "port": JSONValue(Int64(trust.port)), "publicKey": .string(trust.certificate.publicKey),
        "fault": trust.certificate.fault.map { .string($0.rawValue) },
        "certificateEndsAt": JSONValue(trust.certificate.endsAt),
        "formerPublicKey": trust.formerPublicKey.map(JSONValue.string),
      ])
    }
  }
}

extension JSONValue {
  /// Makes a needed prompt that could not be shown, with the parameter, method or option that
  /// replaces it.
  init(needed prompt: Prompt, for application: String) {
    var object = JSONObject()
    object["kind"] = .string(prompt.kind.rawValue)
    switch prompt {
    case .grantAccess: object["method"] = "access.set"
    case .selectAccount, .replaceAccount: object["parameter"] = "account"
    case .confirmAccount: object["parameter"] = "confirm"
    case .openURL, .deviceCode, .enterVerifier, .enterPassword: break
    case .trustCertificate: object["parameter"] = "server.trustedPublicKey"
    case .enterPassphrase(let wanted): object["option"] = .string(wanted.option)
    }
    for member in prompt.fitted(for: application).wireMembers(for: application).members {
      object[member.name] = member.value
    }
    self = .object(object)
  }
}

extension Problem {
  /// Returns how to answer a prompt in advance; `nil` if that is not possible, or is the hint.
  func inAdvance(_ prompt: Prompt, for application: String) -> NextStep? {
    let provider = self.provider.map(JSONValue.string)
    return switch prompt {
    case .grantAccess:
      hint?.method == "access.set" ? nil : granting(for: application)
    case .selectAccount, .replaceAccount:
      NextStep(
        Hint("accounts.list").label, "accounts.list", JSONObject(present: ["provider": provider]))
    case .confirmAccount:
      NextStep(
        "Confirm the account in advance", "auth.perform",
        JSONObject(present: ["provider": provider, "confirm": true]))
    case .trustCertificate: NextStep("Name the public key to trust, with trustedPublicKey")
    case .enterPassphrase(let wanted): NextStep("Pass the passphrase with \(wanted.option)")
    case .openURL, .deviceCode, .enterVerifier, .enterPassword: nil
    }
  }
}
