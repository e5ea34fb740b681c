package import EinlassJSON
internal import EinlassSystem

/// The way from a name on the command line to a token.
extension Client {
  /// Returns the account that this text names: `provider/username`, an account's id, a provider
  /// with one usable account, or an address.
  package func target(_ name: String) throws(Failure) -> TokenTarget {
    if name.holds("://") { return try target(["address": .string(name)]) }
    if name.hasPrefix("a_") { return TokenTarget(account: name) }
    if let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")) {
      let username = name[name.utf8.index(after: slash)...]
      return try target([
        "provider": .string(String(name[..<slash])), "account": .string(String(username)),
      ])
    }
    do throws(Failure) { return try target(["provider": .string(name)]) } catch {
      guard case .refused(let refusal) = error, refusal.reason == "unknownProvider",
        name.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") })
          || (try? serves(name)) == true
      else { throw error }
      return try target(["address": .string(name)])
    }
  }

  /// Whether a provider or a service is known for this address.
  package func serves(_ address: String) throws(Failure) -> Bool {
    do throws(Failure) {
      _ = try call("services.resolve", ["address": .string(address)])
      return true
    } catch .refused { return false }
  }

  /// Returns the account of a request to `services.resolve`. With `signsIn`, the person is asked for
  /// access, for the account and for a sign-in.
  package func target(_ place: JSONObject) throws(Failure) -> TokenTarget {
    var place = place
    place["folder"] = Program.workingDirectory.map(JSONValue.string)
    let resolution = try resolution(of: place)
    let provider = resolution["provider"]?.string ?? ""
    var target = TokenTarget(account: resolution["account"]?.string ?? "", provider: provider)
    let username = resolution["username"]?.string
    target.username = username == TokenTarget.anyUsername ? nil : username
    target.isPassword = resolution["scheme"]?.string == "basic"
    target.headers = resolution["headers"]?.object?.members ?? []
    target.scopes = (resolution["scopes"]?.array ?? []).compactMap(\.string)
    target.resource = resolution["resource"]?.string
    target.address = place["address"]?.string
    guard let error = resolution["error"] else { return target }
    guard session.signsIn, Refusal(error).reason != "unknownAccount" else {
      throw try refused(error, at: provider)
    }
    let params = JSONObject(present: [
      "provider": .string(provider), "account": resolution["account"], "selection": "whenMany",
      "credential": "none", "signIn": "ifNeeded",
    ])
    do throws(Failure) {
      target.account = try call("auth.perform", params)["account"]?.string ?? ""
    } catch .refused(let refusal) {
      throw try refused(refusal.json, at: provider)
    }
    return target
  }

  /// Returns the answer of `services.resolve`. The refusal of an address names the command that adds
  /// it, with the provider if the accounts are all of one.
  package func resolution(of place: JSONObject) throws(Failure) -> JSONObject {
    do throws(Failure) { return try call("services.resolve", place) } catch {
      guard case .refused(var refusal) = error, refusal.data["detail"]?.string == "notServed",
        let address = place["address"]?.string
      else { throw error }
      let providers = Set(try accounts().map(\.provider))
      let provider = providers.count == 1 ? providers.first : nil
      refusal.ownStep = NextStep(
        "Choose an account for it:", "services", "add", address, provider ?? "PROVIDER")
      throw .refused(refusal)
    }
  }

  /// Returns a token of the account. With `signsIn`, the person signs in if that helps.
  package func token(of target: TokenTarget, _ needs: TokenNeeds) throws(Failure) -> Token {
    let token = Token(credential: try credential(of: target, needs), target: target)
    if let sentence = token.fault(needs) { throw .unusable(sentence) }
    return token
  }

  /// Reports that the service of the target has refused the token.
  package func reject(_ target: TokenTarget) throws(Failure) -> JSONObject {
    try call(
      "credentials.reject",
      JSONObject(present: [
        "account": .string(target.account), "resource": target.resource.map(JSONValue.string),
        "address": target.address.map(JSONValue.string),
      ]))
  }

  /// Lets the next request bring a new token, if it can be renewed. A program has forgotten its
  /// token, and no service has refused one.
  package func renewLater(_ target: TokenTarget) throws(Failure) {
    _ = try call(
      "credentials.reject",
      JSONObject(present: [
        "account": .string(target.account), "resource": target.resource.map(JSONValue.string),
        "onlyRenewable": true,
      ]))
  }

  /// The refusals that the person mends by a sign-in alone.
  private static var signInReasons: [String] {
    ["reloginNeeded", "noSystemAccount", "notIssuedToThisClient"]
  }

  private func credential(
    of target: TokenTarget, _ needs: TokenNeeds
  ) throws(Failure) -> JSONValue {
    let scopes = target.scopes + needs.scopes
    var needs = needs
    if let wanted = needs.minValidity, !needs.refreshes, let short = ShortLifetime(of: target),
      short.lifetime < wanted
    {
      sayTooShort(short.lifetime, wanted)
      needs.minValidity = nil
    }
    let params = JSONObject(present: [
      "account": .string(target.account), "scopes": scopes.isEmpty ? nil : JSONValue(scopes),
      "minValiditySeconds": needs.minValidity.map { JSONValue($0) },
      "forceRefresh": needs.refreshes ? true : nil,
      "idToken": needs.wantsIDToken ? true : nil,
      "resource": (needs.resource ?? target.resource).map(JSONValue.string),
      "address": target.address.map(JSONValue.string),
    ])
    do throws(Failure) {
      let answer = try call("credentials.get", params)
      if let wanted = needs.minValidity, let lifetime = answer["lifetimeSeconds"]?.int64 {
        sayTooShort(lifetime, wanted)
        ShortLifetime.note(lifetime, of: target)
      }
      return answer["credential"] ?? .null
    } catch .refused(let refusal) {
      let step = refusal.step("accounts.signIn")
      // After any other refusal a sign-in would hide its cause: a full disk, a server's new key, a
      // service that has refused the token.
      guard session.signsIn, Self.signInReasons.contains(refusal.reason), let step else {
        guard refusal.reason == "reloginNeeded", let resource = needs.resource ?? target.resource
        else { throw try refused(refusal.json, at: target.provider, scopes: scopes) }
        var refusal = refusal
        refusal.ownStep = NextStep("Sign in to it:", "sign-in", resource)
        throw .refused(refusal)
      }
      _ = try call("accounts.signIn", step["params"]?.object ?? JSONObject())
      return try call("credentials.get", params)["credential"] ?? .null
    }
  }

  /// Tells the person that the tokens of the account do not live as long as the command asks for.
  private func sayTooShort(_ lifetime: Int64, _ wanted: Int64) {
    complain(
      "einlassctl: a new token of this account lasts \(lifetime) s, and not the \(wanted) s of --min-validity. Ask again before its end."
    )
  }

  /// Returns the failure of an error object, with the command that mends it.
  private func refused(
    _ error: JSONValue, at provider: String?, scopes: [String] = []
  ) throws(Failure) -> Failure {
    var refusal = try refusal(error, at: provider ?? "", nil)
    if refusal.reason == "reloginNeeded" {
      // The scopes of a sign-in replace those that the account has.
      let step = refusal.step("accounts.signIn") ?? refusal.step("accounts.add")
      let all = step?["params"]?["scopes"]?.array?.compactMap(\.string)
      refusal.ownStep?.command += (all ?? scopes).flatMap { ["--scope", $0] }
    }
    if refusal.reason == "interactionRequired", refusal.data["detail"] != "prompter" {
      let account = try accounts().first { sameBytes($0.provider, provider ?? "") }
      refusal.ownStep = NextStep(
        "Choose the account, for example:", "accounts", "prefer", account?.title ?? "ACCOUNT",
        "--for", application)
    }
    return .refused(refusal)
  }
}
