package import EinlassJSON

extension NextStep {
  /// Reads a step of `next`, with the command of this program for its method.
  ///
  /// - Parameters:
  ///   - application: The one that needs access.
  ///   - account: The account's name as the command shows it; `nil` if only the id is known.
  package init(_ step: JSONValue, for application: String = "einlassctl", account: String? = nil) {
    let label = step["label"]?.string ?? "See the message"
    let page = step["page"]?.string.map { " (\($0))" } ?? ""
    self.init(clean("\(label)\(page)"))
    if let method = step["method"]?.string {
      command = Self.command(method, step["params"] ?? [:], application, account)
    }
    foreign = step["command"]?.string
    // A question has its mark already.
    if text.utf8.last != UInt8(ascii: "?") {
      text += command.isEmpty && foreign == nil ? "." : ":"
    }
  }

  /// Returns the command for a method; empty if this program has none.
  private static func command(
    _ method: String, _ params: JSONValue, _ application: String, _ account: String?
  ) -> [String] {
    func named(_ name: String, _ otherwise: String? = nil) -> [String] {
      (params[name]?.string ?? otherwise).map { [$0] } ?? []
    }
    func repeated(_ name: String, _ option: String) -> [String] {
      (params[name]?.array ?? []).compactMap(\.string).flatMap { [option, $0] }
    }
    switch method {
    case "auth.perform" where params["confirm"]?.bool == true: return []
    case "accounts.signIn", "auth.perform":
      let id = account ?? params["account"]?.string
      let place = id.map { ["--account", $0] } ?? named("resource", params["provider"]?.string)
      return place.isEmpty ? [] : ["sign-in"] + place + repeated("scopes", "--scope")
    case "accounts.add":
      return ["accounts", "add"] + (params["replace"]?.bool == true ? ["--replace"] : [])
    case "accounts.export": return ["accounts", "export"] + named("path", "FILE") + ["--replace"]
    case "accounts.list": return ["accounts", "list"]
    case "access.set":
      let wanted = named("application", application) + named("provider", "PROVIDER")
      let audience = named("audience").flatMap { ["--audience", $0] }
      let includes = params["includes"]?.array?.isEmpty == false ? ["--refresh-token"] : []
      return ["access", "set"] + wanted + ["granted"] + repeated("accounts", "--account")
        + repeated("permissions", "--permission") + audience + includes
    case "access.reset":
      return ["access", "reset"] + named("application", application) + named("provider", "PROVIDER")
    case "credentials.get": return ["token"] + named("resource", "ADDRESS")
    case "providers.add": return ["providers", "add"]
    case "providers.configure": return ["providers", "configure"] + named("provider", "--help")
    case "providers.remove": return ["providers", "remove"] + named("provider", "--help")
    case "providers.list": return ["providers", "list"]
    case "store.rotateKey": return ["store", "rotate-key"]
    case "store.status": return ["store", "slots"]
    case "users.current": return ["users", "show", "USER"]
    case "users.list": return ["users", "list"]
    case "users.unlink": return ["users", "unlink", "USER"] + named("provider", "PROVIDER")
    default: return []
    }
  }
}

extension JSONValue {
  /// Returns the message of a problem or an error object, with its first next step.
  package func explanation(repeating options: [String]) -> String {
    let next = self["next"] ?? self["data"]?["next"]
    let step = next?.array?.first.map { NextStep($0).line(repeating: options) }
    return [clean(self["message"]?.string ?? ""), step].compactMap(\.self).joined(separator: " ")
  }
}

extension Refusal {
  /// The next steps: the one of the command, or those of einlass.
  package var nextSteps: [NextStep] {
    if let ownStep { return [ownStep] }
    return (data["next"]?.array ?? []).map {
      NextStep($0, for: application, account: account)
    }
  }

  /// Whether a next step is this method.
  package func proposes(_ method: String) -> Bool { step(method) != nil }

  /// Returns the next step with this method.
  package func step(_ method: String) -> JSONValue? {
    data["next"]?.array?.first { $0["method"]?.string.map { sameBytes($0, method) } ?? false }
  }
}

extension Client {
  /// Returns the refusal for an error object. Its next step is a sign-in if the provider has a flow
  /// for that, even when this command has no terminal.
  package func refusal(
    _ error: JSONValue, at provider: String, _ account: Account?
  ) throws(Failure) -> Refusal {
    var refusal = Refusal(error)
    refusal.account = account?.title
    let isOfService = refusal.data["detail"]?.string == "refusedByService"
    guard isOfService || refusal.proposes("accounts.add"), refusal.reason != "accountStoreFailure",
      try flowKinds(of: provider).contains(where: {
        ["authorizationCode", "deviceCode", "oauth1", "clientCredentials", "passwordSession"]
          .contains($0.string)
      })
    else { return refusal }
    let id = refusal.account ?? refusal.data["account"]?.string
    let again =
      isOfService
      ? "Check that the account may use that service. To try again at once:"
      : "Sign in to the account again:"
    refusal.ownStep =
      refusal.reason == "noSystemAccount" || id == nil
      ? NextStep("Sign in there:", "sign-in", provider)
      : NextStep(again, "sign-in", "--account", id ?? provider)
    return refusal
  }

  /// Returns the provider's flow kinds; none for an unknown provider.
  package func flowKinds(of provider: String) throws(Failure) -> [JSONValue] {
    try list("providers.list", "providers")
      .first { sameBytes($0["id"]?.string ?? "", provider) }?["flowKinds"]?.array ?? []
  }
}
