import TestSupport
import Testing

@testable import Einlass

@Suite struct ServiceResolutionTests {
  private static func resolve(
    _ address: String, account: String? = nil, services: [Service] = [],
    accounts: [Account] = [Sample.account("ada", "github")], grant: AccessGrant.State? = .granted
  ) throws -> ServiceResolution {
    let store = ScriptedStore(accounts: accounts, grants: Sample.grants("github", grant))
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: store.accountStore,
      effects: Script(store: store).effects)
    let request = ServiceRequest(
      address.contains(".") || address.contains(":")
        ? .address(try ServiceAddress(address)) : .provider(address), account: account,
      among: services)
    return try engine.resolve(request, asking: [], patience: .usual) { provider in
      PerformRequest(
        application: Sample.application, registration: Sample.registration, provider: provider)
    }
  }

  private static func service(_ address: String, _ account: String? = nil) throws -> Service {
    Service(try ServiceAddress(address), provider: "github", account: account)
  }

  @Test(
    arguments: [
      ("https://github.com/ada/app.git", "github", "x-access-token", .basic),
      ("https://api.github.com/user", "github", nil, .bearer),
      ("https://gitlab.com", "gitlab", "oauth2", .basic),
      ("https://gitea.com/ada/app", "gitea", "oauth2", .basic),
      ("https://codeberg.org/ada/app", "forgejo", "oauth2", .basic),
      ("https://bitbucket.org/team/app", "bitbucket", "x-token-auth", .bearer),
      ("imap.gmail.com", "google", nil, .bearer),
      ("https://www.googleapis.com/drive/v3/files", "google", nil, .bearer),
      ("https://storage.googleapis.com/storage/v1/b", "google-cloud", nil, .bearer),
      ("https://dev.azure.com/ada/app/_git/app", "azure-devops", "oauth2", .bearer),
      ("https://huggingface.co/ada/model", "huggingface", "hf_user", .bearer),
      ("https://graph.microsoft.com/v1.0/me", "microsoft", nil, .bearer),
      ("outlook.office365.com", "outlook", nil, .bearer),
      ("smtp-mail.outlook.com", "outlook", nil, .bearer),
      ("https://graph.facebook.com/me", "facebook", nil, .bearer),
    ] as [(String, String, String?, ServedHost.Scheme)])
  func `A host of a descriptor and an origin of its requests name the provider`(
    address: String, provider: String, username: String?, scheme: ServedHost.Scheme
  ) throws {
    let resolution = try Self.resolve(address)
    #expect(resolution.provider == provider)
    #expect(resolution.username == username)
    #expect(resolution.scheme == scheme)
    #expect(resolution.service == nil)
  }

  @Test(arguments: [("notion", ["Authorization", "Notion-Version"]), ("github", [])])
  func `A provider has the fields that all its hosts take`(
    _ provider: String, _ names: [String]
  ) throws {
    let account = Sample.account("ada", provider)
    #expect(try Self.resolve(provider, accounts: [account]).headers.map(\.name) == names)
  }

  @Test func `Each host of a built-in provider belongs to it alone`() throws {
    for provider in ProviderCatalog.builtIn.providers {
      for host in provider.hosts {
        let address = try ServiceAddress("https://\(host.name)")
        #expect(try ProviderCatalog.builtIn.host(serving: address).provider == provider.id)
      }
    }
  }

  @Test(
    "A name in other letter case and an e-mail address name the only account that has them",
    arguments: [
      ("ada", "a_ada"), ("Ada", "a_ada"), ("ADA@EXAMPLE.ORG", "a_ada"),
      ("ada@example.org", "a_ada"),
      ("Bob", "a_Bob"), ("bob", "a_bob"), ("BOB", nil), ("team@example.org", nil), ("ad", nil),
      ("\u{212A}", nil),
    ] as [(String, String?)])
  func otherSpellings(name: String, account: String?) throws {
    var accounts = ["ada", "bob", "Bob", "k"].map { Sample.account($0, "github") }
    for index in accounts.indices { accounts[index].position = Int64(index) }
    accounts[0].email = "Ada@example.org"
    (accounts[1].email, accounts[2].email) = ("team@example.org", "team@example.org")
    // Another provider's account never counts.
    accounts.append(Sample.account("AD", "gitlab"))
    let explanation = try Self.resolve("github.com", account: name, accounts: accounts).explanation
    #expect(explanation.account?.id.rawValue == account)
    guard account == nil else { return }
    #expect(explanation.problem?.reason == .unknownAccount)
    #expect((explanation.problem?.detail == "ambiguous") == !["ad", "\u{212A}"].contains(name))
  }

  @Test func `A provider alone names the application's usual account`() throws {
    let resolution = try Self.resolve("github")
    #expect(resolution.provider == "github" && resolution.username == nil)
    #expect(resolution.explanation.account?.username == "ada")
    #expect(try Self.resolve("github", account: "a_ada").explanation.rule == .account)
    #expect(
      try #require(throws: Problem.self) { try Self.resolve("nowhere") }.reason == .unknownProvider)
  }

  @Test(arguments: [
    "https://github.com.evil.example", "https://github.com:8443", "https://evil.example/github.com",
    "https://raw.githubusercontent.com", "http://127.0.0.1", "ithub.com", "smtp.gmail.com:25",
    "graph.facebook.com",
  ])
  func `No token goes to an address that no provider names`(address: String) throws {
    let problem = try #require(throws: Problem.self) { try Self.resolve(address) }
    #expect(problem.reason == .unsafeURL && problem.detail == "notServed")
  }

  @Test func `The service with the longest path decides`() throws {
    let accounts = [Sample.account("ada", "github"), Sample.account("work", "github")]
    let services = try [
      Self.service("https://github.com", "ada"), Self.service("https://github.com/corp", "work"),
    ]
    for (address, username) in [
      ("https://github.com/corp/app.git", "work"), ("https://github.com/corporation", "ada"),
      ("https://github.com", "ada"),
    ] {
      let resolution = try Self.resolve(address, services: services, accounts: accounts)
      #expect(resolution.explanation.account?.username == username)
      #expect(resolution.explanation.rule == .account)
      #expect(resolution.username == "x-access-token")
    }
    let named = try Self.resolve(
      "https://github.com/corp", account: "ada", services: services, accounts: accounts)
    #expect(named.explanation.account?.username == "ada")
  }

  @Test func `A service may name a host that no provider names`() throws {
    var service = try Self.service("https://git.example:8443/code")
    service.username = "oauth2"
    service.scopes = ["repo"]
    let resolution = try Self.resolve("https://git.example:8443/code/app", services: [service])
    #expect(resolution.service == service)
    #expect(resolution.username == "oauth2" && resolution.scopes == ["repo"])
    #expect(resolution.explanation.account?.username == "ada")
    #expect(throws: Problem.self) {
      try Self.resolve("https://git.example:8443/other", services: [service])
    }
  }

  @Test func `A name of scopes in a service is replaced by its scopes`() throws {
    let service = Service(
      try ServiceAddress("mail.example"), provider: "google", scopes: ["mail", "email"])
    let resolution = try Self.resolve("mail.example", services: [service])
    #expect(resolution.scopes == ["https://mail.google.com/", "email"])
  }

  @Test func `A protected resource names the account with its credential`() throws {
    var ada = Sample.account("ada", "github")
    ada.resources = ["https://mcp.example/photos", "https://mcp.example"]
    let accounts = [ada, Sample.account("work", "github")]
    let resolution = try Self.resolve("https://mcp.example/photos/list", accounts: accounts)
    #expect(resolution.resource == "https://mcp.example/photos")
    #expect(resolution.explanation.account == ada)
    #expect(throws: Problem.self) {
      try Self.resolve("https://mcp.example:444/photos", accounts: accounts)
    }
  }

  @Test func `Of more than a hundred accounts at one origin the longest resource is found`() throws
  {
    let accounts = (0...100).map { number in
      var account = Sample.account("user\(number)", "github")
      account.resources = [number == 100 ? "https://mcp.example/photos" : "https://mcp.example"]
      return account
    }
    let resolution = try Self.resolve("https://mcp.example/photos/list", accounts: accounts)
    #expect(resolution.resource == "https://mcp.example/photos")
    #expect(resolution.explanation.account == accounts[100])
  }

  @Test(arguments: ["corp/..;/x", "%63orp/x", "100%25.md"])
  func `A path that servers read differently is refused beside a path, and else the host's`(
    path: String
  ) throws {
    let address = "https://api.github.com/\(path)"
    #expect(try Self.resolve(address).explanation.account?.username == "ada")
    let service = try Self.service("https://api.github.com/corp", "work")
    var work = Sample.account("work", "github")
    work.resources = ["https://api.github.com/corp"]
    for (services, accounts) in [([service], []), ([], [work])] {
      let problem = #expect(throws: Problem.self) {
        try Self.resolve(address, services: services, accounts: accounts)
      }
      #expect(problem?.reason == .unsafeURL && problem?.detail == "ambiguous")
    }
  }

  @Test func `Two accounts with a credential for one resource need a choice`() throws {
    let accounts = ["ada", "work"].map { name in
      var account = Sample.account(name, "github")
      account.resources = ["https://mcp.example"]
      return account
    }
    let resolution = try Self.resolve("https://mcp.example", accounts: accounts)
    #expect(resolution.explanation.account == nil)
    #expect(resolution.explanation.problem?.reason == .interactionRequired)
  }

  @Test func `Accounts of two providers with a credential for one resource are refused`() throws {
    let accounts = ["github", "gitlab"].map { provider in
      var account = Sample.account("ada", provider)
      account.resources = ["https://mcp.example"]
      return account
    }
    // The control: each of them alone serves the address.
    for account in accounts {
      #expect(
        try Self.resolve("https://mcp.example", accounts: [account]).provider == account.provider)
    }
    let problem = #expect(throws: Problem.self) {
      try Self.resolve("https://mcp.example", accounts: accounts)
    }
    #expect(problem?.detail == "notServed")
    #expect(problem?.message.contains("github, gitlab") == true)
  }

  @Test(
    arguments: [
      ("nobody", .granted, .unknownAccount), (nil, .denied, .accessNotGranted),
      (nil, nil, .accessNotGranted), ("ada", .granted, .reloginNeeded),
    ] as [(String?, AccessGrant.State?, Problem.Reason)])
  func `A problem with the account is part of the result`(
    account: String?, grant: AccessGrant.State?, reason: Problem.Reason
  ) throws {
    var ada = Sample.account("ada", "github")
    ada.isSignedIn = reason != .reloginNeeded
    let resolution = try Self.resolve(
      "https://github.com", account: account, accounts: [ada], grant: grant)
    #expect(resolution.explanation.problem?.reason == reason)
    #expect(resolution.provider == "github")
  }
}
