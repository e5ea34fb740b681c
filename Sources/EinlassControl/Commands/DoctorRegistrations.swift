internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// The checks of registrations and providers. None of them contacts a provider.
extension Doctor {
  /// Checks the registrations of every application in the configuration, and the stored ones.
  func registrations(_ console: Console) throws(Failure) -> [Finding] {
    // With an invalid configuration einlass lists no providers.
    guard console.greeting["configuration"] == nil else { return [] }
    let providers = try console.list("providers.list", "providers")
    let names = providers.filter(\.hasRegistration).compactMap { $0["id"]?.plain }
      .joined(separator: ", ")
    var findings = [
      names.isEmpty
        ? Finding(
          "registrations", .well, "none yet",
          NextStep("Sign in on a terminal, which leads to one:", "sign-in"))
        : Finding("registrations", .well, "sign-ins can start at \(names)")
    ]
    findings += leftOut(console)
    findings += unusable(providers, by: "einlassctl")
    for application in configuredApplications {
      // `providers.list` answers for the application named in `initialize`.
      let speaker = try Console(server, actingAs: application)
      defer { speaker.end() }
      findings += unusable(try speaker.list("providers.list", "providers"), by: application)
    }
    return findings
  }

  /// Returns a finding for each added provider that einlass cannot read.
  private func leftOut(_ console: Console) -> [Finding] {
    (console.greeting["leftOut"]?.array ?? []).map { fault in
      let id = fault["provider"]?.string
      return Finding(
        id ?? "added providers", .wrong, "cannot be used: \(fault["message"]?.plain ?? "")",
        fault["next"]?.array?.first.map { NextStep($0) })
    }
  }

  /// Returns a finding for each account of an unknown provider.
  func strays(_ accounts: [Account], _ console: Console) throws(Failure) -> [Finding] {
    guard console.greeting["configuration"] == nil else { return [] }
    let known = try console.providerIDs()
    return accounts.filter { account in !known.contains { sameBytes($0, account.provider) } }.map {
      Finding(
        $0.title, .wrong, "its provider is unknown",
        NextStep("Add the provider again:", "providers", "add"))
    }
  }

  private func unusable(_ providers: [JSONValue], by application: String) -> [Finding] {
    providers.compactMap { provider in
      guard let problem = provider["problem"] else { return nil }
      let id = provider["id"]?.plain ?? ""
      // Both problems concern the stored registration, which belongs to no single application.
      let isForAll = ["bindingMismatch", "providerFailure"].contains(problem["reason"]?.string)
      return Finding(
        isForAll ? id : "\(application) at \(id)", .wrong, problem["message"]?.plain ?? "",
        isForAll
          ? NextStep("Add a registration for this server:", "providers", "configure", id)
          : NextStep("Correct the registration in \(server.config ?? "the configuration")."))
    }
  }

  /// The applications with registrations of their own. The registrations for `*` are already
  /// checked as einlassctl's.
  private var configuredApplications: [String] {
    configured("applications").map(\.name).filter {
      !["*", "einlassctl"].contains($0) && isIdentifier($0)
    }
  }

  /// Returns the ids of unknown providers in the configuration's registrations, without duplicates.
  func unknownProviders(_ console: Console) throws(Failure) -> [String] {
    let named = configured("applications").flatMap { $0.value.object?.members.map(\.name) ?? [] }
    guard !named.isEmpty else { return [] }
    let known = try console.providerIDs()
    return Set(named.filter { name in !known.contains { sameBytes($0, name) } }).sorted()
  }

  private func configured(_ member: String) -> [JSONObject.Member] {
    guard let path = server.configurationInUse,
      let bytes = try? PersonalFile.read(path, others: .mayRead, limitBytes: 1 << 20)
    else { return [] }
    return (try? JSONFile.read(bytes))?[member]?.object?.members ?? []
  }
}
