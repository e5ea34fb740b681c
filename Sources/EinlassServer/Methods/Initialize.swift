internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// `initialize`: introduces the front end. It is optional and must be the first request.
func initialize(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "initialize", .immediate,
      "Introduces the front end. Optional; allowed only as the first request. Never opens the key.",
      params: fields(
        Params.protocolVersion, Params.client, Params.processID, Params.capabilities,
        Params.applications, Params.locale),
      result: .object([
        .required("protocolVersion", .integer(1...1), "The version in use from now on."),
        .required("server", .program, "Name and version of this program."),
        .required(
          "capabilities", .capabilities, "Methods, notifications, prompts, changes, network."),
        .required("understood", .understood, "The capabilities of the front end in effect."),
        .required("limits", .limits, "The limits of the protocol, in bytes and counts."),
        .required(
          "store", .greetingStore, "Protection and revision, or the problem with the store."),
        .optional(
          "configuration",
          .object([.required("problem", .reference("Problem"), "The problem.")]),
          "The problem with the configuration file."),
        .optional(
          "leftOut", .array(.leftOut, max: leftOutLimit),
          "The added providers that cannot be read, if any."),
      ]),
      reasons: ["alreadyInitialized", "unsupportedVersion"], isBatchable: false),
    .immediate { params, call, deadline throws(RPCError) in
      guard call.isFirstRequest else { throw RPCError(.alreadyInitialized) }
      guard params[Params.protocolVersion] >= 1 else {
        throw RPCError(.unsupportedVersion, data: ["supported": [1]])
      }
      guard params[Params.locale].map({ LanguageTag($0) != nil }) ?? true else {
        throw .invalidParams(
          path: "/locale", expected: "a language tag such as de or pt-BR (RFC 5646)")
      }
      if let processID = params[Params.processID] {
        guard call.peer.watchProcess(Int32(processID)) else {
          throw .invalidParams(path: "/processId", expected: "the id of a running process")
        }
      }
      // Before the wait for the store, because other requests may be answered during that wait.
      if !server.session.frontEnd.isInitialized {
        server.begin(for: Session.FrontEnd(params, server.catalog), call.peer)
      }
      let store: JSONValue
      do throws(Problem) {
        let patience = AccountStore.Patience(until: deadline)
        let protection = try server.store.protection(patience)
        let changes = try server.store.changes(nil, patience)
        if server.session.frontEnd.wantsChangeNotifications {
          server.changes.begin(after: changes.mark)
        }
        store = ["protection": .string(protection), "revision": JSONValue(changes.revision)]
      } catch {
        let listens = server.session.frontEnd.wantsChangeNotifications
        // A short process needs no mark of the changes, so it does not wait for another process here.
        if listens || server.store.isRemote, error.isLockedStore, deadline == nil { return nil }
        if listens { server.changes.begin(after: nil) }
        store = ["problem": problemObject(error)]
      }
      let greeting = server.greeting(store: store)
      if server.session.frontEnd.wantsUserNotifications {
        // The first notification must not come before the answer.
        call.answer(greeting)
        server.announceCurrentUser()
      }
      return greeting
    })
}

private enum Params {
  static let protocolVersion = TypedField.optional(
    "protocolVersion", .integer(), default: 1, "The newest supported version; 1.")
  static let client = TypedField.required(
    "client", .object(fields(Client.name, Client.title, Client.version)), "The front end.")
  static let processID = TypedField.optional(
    "processId", .integer(1...Int64(Int32.max)), "End when this process ends.")
  static let capabilities = TypedField.optional(
    "capabilities", .object(understood),
    default: [:],
    "The abilities of the front end.")
  static let applications = TypedField.optional(
    "applications", .map(.registration), default: [:],
    "Its own registrations, by provider; never stored.")
  static let locale = TypedField.optional(
    "locale", .string(maxBytes: 64),
    "The person's language, for the pages of providers: a language tag such as de or pt-BR.")
}

private enum Client {
  static let name = TypedField.required(
    "name", .identifier, "The application that access is granted to.")
  static let title = TypedField.optional("title", .name, "Its name for people.")
  static let version = TypedField.optional("version", .string(maxBytes: 64), "Its version.")
}

/// The capabilities of a front end. Unknown ones are ignored.
private let understood = fields(shownPrompts, wantsChanges, wantsNetwork, wantsUsers)

private let shownPrompts = TypedField.optional(
  "prompts", .identifiers(max: 64), default: [], "The supported kinds of prompt.")

private let wantsChanges = TypedField.optional(
  "changes", .boolean, default: true,
  "false: no notifications of changes, for a process that ends at once.")

private let wantsNetwork = TypedField.optional(
  "network", .boolean, default: false, "true: network.changed when the machine goes on or offline.")

private let wantsUsers = TypedField.optional(
  "users", .boolean, default: false,
  "true: users.changed at once, and when a user of the application's directory changes.")

/// The largest number of entries; so many always fit the answer.
private let leftOutLimit = 50

extension Schema {
  fileprivate static let program = Schema.object([
    .required("name", .identifier, "The name."),
    .required("version", .string(maxBytes: nil), "The version."),
  ])

  fileprivate static let capabilities = Schema.object([
    .required("methods", .array(.identifier), "The methods of this process."),
    .required("notifications", .array(.identifier), "The notifications of this process."),
    .required("prompts", .array(Schema(Prompt.Kind.self)), "The kinds of prompt."),
    .required("changes", .boolean, "Whether changes by other processes are announced."),
    .required("network", .boolean, "Whether network.changed is sent."),
  ])

  /// Unknown names and kinds are missing.
  fileprivate static let understood = Schema.object(
    EinlassServer.understood.map { .required($0.name, $0.schema, $0.summary) })

  fileprivate static let limits = Schema.object(
    Limits.published.map { .required($0.name, .count, $0.summary) })

  fileprivate static let greetingStore = Schema.object([
    .optional("protection", .string(maxBytes: nil), "As in store.status; missing with a problem."),
    .optional("revision", .count, "The revision; missing with a problem."),
    .optional("problem", .reference("Problem"), "The reason why the store cannot be used."),
  ])

  fileprivate static let leftOut = Schema.object([
    .optional("provider", .string(maxBytes: nil), "Its id."),
    .required("message", .string(maxBytes: nil), "The problem with it."),
    .required("next", .nextSteps, "The next steps."),
  ])
}

/// Returns a problem inside a result: `{code, reason, detail?, path?, message, next, final?}`.
func problemObject(_ problem: Problem) -> JSONValue {
  let error = RPCError(problem)
  return .object(
    JSONObject(present: [
      "code": JSONValue(Int64(error.code)), "reason": error.data["reason"],
      "detail": error.data["detail"], "path": error.data["path"],
      "message": .string(error.message), "next": error.data["next"], "final": error.data["final"],
    ]))
}

extension Session.FrontEnd {
  fileprivate init(_ params: JSONObject, _ catalog: ProviderCatalog) {
    let client = params[Params.client]
    application = client[Client.name]
    title = client[Client.title]
    locale = params[Params.locale].flatMap(LanguageTag.init)
    wantsChangeNotifications = params[Params.capabilities][wantsChanges]
    wantsNetworkNotifications = params[Params.capabilities][wantsNetwork]
    wantsUserNotifications = params[Params.capabilities][wantsUsers]
    prompts = Set(params[Params.capabilities][shownPrompts].compactMap(Prompt.Kind.init))
    for member in params[Params.applications].members {
      registrations[catalog.id(of: member.name) ?? member.name] = ClientRegistration(member.value)
    }
  }
}

extension Server {
  fileprivate func begin(for frontEnd: Session.FrontEnd, _ peer: Peer) {
    session.initialize(frontEnd)
    // The end of a watch takes the kernel up to 20 ms, which a short process need not wait for.
    if frontEnd.wantsChangeNotifications {
      changes.watch(by: peer) { [weak self] in
        self?.added.refresh()
        self?.finishRenewals()
      }
      // Another process may have added a provider before the watch began.
      added.refreshBeforeUse()
    }
    if frontEnd.wantsNetworkNotifications { network.watch(by: peer.watch) }
    finishRenewals()
  }

  fileprivate func greeting(store: JSONValue) -> JSONValue {
    let capabilities: JSONObject = [
      "methods": JSONValue(
        Lifecycle.allCases.map(\.rawValue) + methodNames.withLock { $0 }),
      "notifications": JSONValue(notifications.map(\.name)),
      "prompts": JSONValue(Prompt.Kind.allCases.map(\.rawValue)),
      "changes": .bool(session.frontEnd.wantsChangeNotifications && changes.isComplete),
      "network": .bool(network.isWatching),
    ]
    let frontEnd = session.frontEnd
    let understood: JSONObject = [
      "prompts": JSONValue(
        Prompt.Kind.allCases.filter(frontEnd.prompts.contains).map(\.rawValue)),
      "changes": .bool(frontEnd.wantsChangeNotifications),
      "network": .bool(frontEnd.wantsNetworkNotifications),
      "users": .bool(frontEnd.wantsUserNotifications),
    ]
    return .object(
      JSONObject(present: [
        "protocolVersion": 1,
        "server": ["name": "einlass", "version": .string(version)],
        "capabilities": .object(capabilities), "understood": .object(understood),
        "limits": Limits.json, "store": store,
        "configuration": configurationProblem.map { ["problem": problemObject($0)] },
        "leftOut": leftOut.isEmpty
          ? nil
          : .array(
            leftOut.prefix(leftOutLimit).map { fault in
              .object(
                JSONObject(present: [
                  "provider": fault.provider.map(JSONValue.string),
                  "message": .string(fault.description),
                  "next": [
                    NextStep(
                      "Add the provider that it is based on, update einlass, or remove it",
                      "providers.remove",
                      JSONObject(present: ["provider": fault.provider.map(JSONValue.string)])
                    ).json
                  ],
                ]))
            }),
      ]))
  }
}
