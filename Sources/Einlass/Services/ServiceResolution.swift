internal import EinlassJSON

/// The provider and the account for an address, or the account for a provider: `services.resolve`
/// of the protocol.
public struct ServiceResolution: Sendable, Equatable {
  /// The provider's id.
  public var provider: String
  /// The service of the configuration that decided; `nil` for a host of the provider's descriptor.
  @Indirect public var service: Service?
  /// The protected resource whose credential the address takes. RFC 8707.
  public var resource: String?
  /// The user name to send with the token, if a protocol needs one.
  public var username: String?
  public var scheme: ServedHost.Scheme = .bearer
  /// The fields of a request, with `{token}` in the place of the token; empty for the usual one.
  public var headers: [Parameter] = []
  /// The account, the rule that selects it and the expected error.
  @Indirect public var explanation = Explanation(rule: .nothing, prompts: [])

  /// The scopes that the token must have.
  public var scopes: [String] { service?.scopes ?? [] }
}

/// The question of `services.resolve`.
public struct ServiceRequest: Sendable {
  /// The use of the token.
  public enum Place: Sendable {
    case address(ServiceAddress)
    /// The provider's id.
    case provider(String)
  }

  public var place: Place
  /// The user name or id of the account to use; `nil` for the service's or the usual one.
  public var account: String?
  /// The absolute path of the folder in which the program works.
  public var folder: String?
  /// The services of the configuration.
  public var services: [Service]
  /// The folders of the configuration.
  public var folders: [FolderPreference] = []

  public init(_ place: Place, account: String? = nil, among services: [Service]) {
    self.place = place
    self.account = account
    self.services = services
  }
}

extension Einlass {
  /// Returns the provider and the account for a request, without asking the person.
  ///
  /// For an address, the configured service with the longest path comes first, then the protected resources that
  /// accounts have credentials for, then the hosts and origins of the providers. Throws `unsafeURL`
  /// if none or several providers serve the address, and `unknownProvider`. A problem with the
  /// account is part of the result.
  ///
  /// The account is the one of the request, of the service, or of the folder. `question` returns the
  /// question about an account of a provider.
  public func resolve(
    _ request: ServiceRequest, asking kinds: Set<Prompt.Kind>, patience: AccountStore.Patience,
    _ question: (_ provider: String) -> PerformRequest
  ) throws(Problem) -> ServiceResolution {
    var (resolution, account) = try place(of: request, patience)
    let provider = try catalog.provider(resolution.provider)
    if case .provider = request.place { resolution.headers = provider.commonHeaders }
    var question = question(provider.id)
    question.selection = .whenMany
    question.account = account
    let preferred = request.folders.account(of: provider, in: request.folder)
    if let name = request.account ?? resolution.service?.account ?? preferred {
      let named = try accounts(named: name, at: provider, patience)
      guard named.count == 1 else {
        resolution.explanation.problem =
          named.isEmpty ? .unknownName(at: provider) : .ambiguousName(at: provider)
        return resolution
      }
      question.account = named[0].id
    }
    resolution.explanation = try explain(question, asking: kinds, patience: patience)
    if resolution.explanation.problem == nil, let prompt = resolution.explanation.prompts.first {
      let grant = try store.read(patience) { reader throws(Problem) in
        try reader.grant(to: question.application, for: provider)
      }
      resolution.explanation.problem =
        prompt.kind == .grantAccess
        ? .accessMissing(
          provider, for: question.application, to: question.account, within: grant)
        : .interactionRequired(provider, resolution.explanation.prompts)
    }
    return resolution
  }

  /// Returns the provider of an address, and the account if the address alone decides it.
  private func place(
    of request: ServiceRequest, _ patience: AccountStore.Patience
  ) throws(Problem) -> (ServiceResolution, Account.ID?) {
    let address: ServiceAddress
    switch request.place {
    case .provider(let id): return (ServiceResolution(provider: id), nil)
    case .address(let named): address = named
    }
    guard !request.services.contains(where: { address.isPerhapsBelow($0.address) }) else {
      throw .ambiguous(address)
    }
    if let service = request.services.filter({ address.isBelow($0.address) })
      .max(by: { $1.address.isCloser(than: $0.address) })
    {
      let provider = try catalog.provider(service.provider)
      let host = provider.hosts.first(where: address.isServed(at:))
      var resolution = ServiceResolution(provider: service.provider)
      resolution.service = service
      resolution.service?.scopes = provider.scopeNames.replaced(in: service.scopes)
      resolution.username = service.username ?? host?.username
      resolution.scheme = service.scheme ?? host?.scheme ?? .bearer
      resolution.headers = service.scheme == nil ? host?.templates ?? [] : []
      return (resolution, nil)
    }
    if let (account, resource, isOnly) = try resourceAccount(at: address, patience) {
      var resolution = ServiceResolution(provider: account.provider)
      resolution.resource = resource
      return (resolution, isOnly ? account.id : nil)
    }
    return (try catalog.host(serving: address), nil)
  }

  /// Returns an account with a credential for the protected resource of the longest name above this
  /// address, and whether it is the only one. Throws `unsafeURL` if accounts of several providers
  /// have one.
  private func resourceAccount(
    at address: ServiceAddress, _ patience: AccountStore.Patience
  ) throws(Problem) -> (Account, resource: String, isOnly: Bool)? {
    let accounts = try store.read(patience) { reader throws(Problem) in
      try reader.accounts(withResourceBelow: address.web.origin)
    }
    var found: (Account, resource: String, isOnly: Bool)?
    var providers: [String] = []
    for account in accounts {
      for resource in account.resources {
        guard let place = try? ServiceAddress(resource) else { continue }
        guard !address.isPerhapsBelow(place) else { throw .ambiguous(address) }
        guard address.isBelow(place) else { continue }
        if let longest = found?.resource.utf8.count, longest >= resource.utf8.count {
          guard longest == resource.utf8.count else { continue }
          found?.isOnly = false
          if !providers.contains(account.provider) { providers.append(account.provider) }
        } else {
          found = (account, resource, true)
          providers = [account.provider]
        }
      }
    }
    guard providers.count < 2 else { throw .notServed(address, among: providers) }
    return found
  }

  /// Returns the provider's account of this id or user name; without one, those that have the user
  /// name in other letter case, or the e-mail address.
  private func accounts(
    named name: String, at provider: Provider, _ patience: AccountStore.Patience
  ) throws(Problem) -> [Account] {
    try store.read(patience) { reader throws(Problem) in
      if let account = try reader.account(Account.ID(rawValue: name)) {
        return sameBytes(account.provider, provider.id) ? [account] : []
      }
      let exact = try reader.accounts(of: provider.id, username: name, limit: 1)
      guard exact.isEmpty else { return exact }
      let wanted = asciiLowercased(name)
      var found: [Account] = []
      var last: Int64 = .min
      while found.count < 2,
        case let page = try reader.accounts(of: provider.id, after: last, limit: 100),
        let end = page.last
      {
        found += page.filter { account in
          [account.username, account.email].contains {
            $0.map { sameBytes(asciiLowercased($0), wanted) } ?? false
          }
        }
        last = end.position
      }
      return found
    }
  }
}

extension ServedHost {
  fileprivate var templates: [Parameter] { hasOwnFields ? fields(for: "{token}") : [] }
}

extension ProviderCatalog {
  /// Returns the only provider with a host or an origin that serves this address. Throws
  /// `unsafeURL` if there is none, or several.
  func host(serving address: ServiceAddress) throws(Problem) -> ServiceResolution {
    var found: [ServiceResolution] = []
    for entry in entries where entry.mayHold(address.web.host) {
      let provider = entry.provider
      guard !provider.folders.contains(where: address.isPerhapsBelow) else {
        throw .ambiguous(address)
      }
      let host = provider.hosts.first(where: address.isServed(at:))
      guard host != nil || provider.serves(address) else { continue }
      var resolution = ServiceResolution(provider: provider.id)
      resolution.username = host?.username
      resolution.scheme = host?.scheme ?? .bearer
      resolution.headers = host?.templates ?? []
      found.append(resolution)
    }
    guard found.count == 1 else {
      throw .notServed(address, among: found.map(\.provider))
    }
    return found[0]
  }
}

extension Provider {
  /// The fields of a request if all hosts have the same ones.
  fileprivate var commonHeaders: [Parameter] {
    let all = hosts.map(\.templates)
    return all.allSatisfy { $0 == all[0] } ? all.first ?? [] : []
  }

  /// Whether the provider's tokens may be sent to this address: it is at one of the hosts, or at an
  /// origin or in a folder of the provider's own requests.
  func serves(_ address: ServiceAddress) -> Bool {
    hosts.contains(where: address.isServed(at:))
      || origins.contains { origin in
        (try? WebAddress.parse(origin)).map { address.isServed(at: $0) } ?? false
      }
  }
}

extension Problem {
  /// The address may be meant for a service with a path, and may not.
  static func ambiguous(_ address: ServiceAddress) -> Problem {
    Problem(
      .unsafeURL,
      "The address \(presentable(address.text)) holds a semicolon or a needless encoding, so it is not clear to which service or resource of its host it belongs.",
      detail: "ambiguous")
  }

  /// No provider serves the address, or several do.
  static func notServed(_ address: ServiceAddress, among providers: [String]) -> Problem {
    Problem(
      .unsafeURL,
      providers.isEmpty
        ? "No provider is known to serve \(presentable(address.text)), so no token may be sent there."
        : "Several providers serve \(presentable(address.text)): \(providers.joined(separator: ", ")).",
      detail: "notServed")
  }

  /// The provider does not serve the address of a request to be signed.
  static func notServed(_ url: WebAddress, by provider: Provider) -> Problem {
    Problem(
      .unsafeURL,
      "\(provider.name) is not known to serve \(url.origin), so no request to it is signed.",
      detail: "notServed", provider: provider.id, path: "/url")
  }

  /// Several accounts of the provider have this user name in other letter case, or this address.
  static func ambiguousName(at provider: Provider) -> Problem {
    Problem(
      .unknownAccount,
      "Several \(provider.name) accounts have this name, apart from letter case, or this e-mail address.",
      detail: "ambiguous", provider: provider.id,
      hint: .init("accounts.list", ["provider": provider.id]))
  }

  /// No account of the provider has this id or user name.
  static func unknownName(at provider: Provider) -> Problem {
    Problem(
      .unknownAccount,
      "There is no \(provider.name) account of this name.",
      provider: provider.id, hint: .init("accounts.list", ["provider": provider.id]))
  }
}
