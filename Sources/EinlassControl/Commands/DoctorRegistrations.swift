internal import EinlassJSON
internal import EinlassSystem

/// What `einlassctl doctor` finds of registrations and providers, without asking any of them.
extension Doctor {
  /// The registrations of every application that the configuration names, and those that are stored.
  func registrations(_ console: Console) throws(Failure) -> [Finding] {
    // Without its configuration einlass knows no provider.
    guard console.greeting["configuration"] == nil else { return [] }
    let providers = try console.list("providers.list", "providers")
    let ready = providers.filter { $0["configured"]?.bool == true && $0["problem"] == nil }
    let names = ready.compactMap { $0["id"]?.plain }.joined(separator: ", ")
    var findings = [
      Finding("registrations", .well, names.isEmpty ? "none yet" : "sign-ins can start at \(names)")
    ]
    findings += leftOut(console)
    findings += unusable(providers, by: "einlassctl")
    for application in configuredApplications {
      // einlass answers for whom it was greeted by.
      let speaker = try Console(server, actingAs: application)
      defer { speaker.end() }
      findings += unusable(try speaker.list("providers.list", "providers"), by: application)
    }
    return findings
  }

  /// The added providers that cannot be read.
  private func leftOut(_ console: Console) -> [Finding] {
    (console.greeting["leftOut"]?.array ?? []).map { fault in
      let id = fault["provider"]?.string
      return Finding(
        id ?? "added providers", .wrong, "cannot be used: \(fault["message"]?.plain ?? "")",
        id.flatMap {
          isIdentifier($0)
            ? NextStep(
              "Add again what it is like, update einlass, or forget it:", "providers", "remove", $0)
            : nil
        })
    }
  }

  /// Accounts whose provider is in no catalogue any more.
  func strays(_ accounts: [Account], _ console: Console) throws(Failure) -> [Finding] {
    guard console.greeting["configuration"] == nil else { return [] }
    let known = try console.providerIDs()
    return accounts.filter { account in !known.contains { sameBytes($0, account.provider) } }.map {
      Finding(
        $0.title, .wrong, "its provider is not known any more",
        NextStep("Add the provider again:", "providers", "add"))
    }
  }

  private func unusable(_ providers: [JSONValue], by application: String) -> [Finding] {
    providers.compactMap { provider in
      guard let problem = provider["problem"] else { return nil }
      let id = provider["id"]?.plain ?? ""
      // Of no application's own.
      let isForAll = ["bindingMismatch", "providerFailure"].contains(problem["reason"]?.string)
      return Finding(
        isForAll ? id : "\(application) at \(id)", .wrong, problem["message"]?.plain ?? "",
        isForAll
          ? NextStep("Bring one for this server:", "providers", "configure", id)
          : NextStep("Correct it in \(server.config ?? "the configuration")."))
    }
  }

  /// Those that have registrations of their own; what is for all has been looked at as einlassctl's.
  private var configuredApplications: [String] {
    configured("applications").map(\.name).filter {
      !["*", "einlassctl"].contains($0) && isIdentifier($0)
    }
  }

  /// What the configuration has registrations for and is not there, each once.
  func unknownProviders(_ console: Console) throws(Failure) -> [String] {
    let named = configured("applications").flatMap { $0.value.object?.members.map(\.name) ?? [] }
    guard !named.isEmpty else { return [] }
    let known = try console.providerIDs()
    return Set(named.filter { name in !known.contains { sameBytes($0, name) } }).sorted()
  }

  private func configured(_ member: String) -> [JSONObject.Member] {
    guard let path = server.config,
      let bytes = try? PersonalFile.read(path, others: .mayNothing, limitBytes: 1 << 20)
    else { return [] }
    return (try? JSONReader.read(bytes))?[member]?.object?.members ?? []
  }
}
