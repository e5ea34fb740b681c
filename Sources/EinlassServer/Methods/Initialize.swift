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
      description: initializeDescription,
      params: fields(
        Params.protocolVersion, Params.client, Params.processID, Params.capabilities,
        Params.applications, Params.locale),
      result: .greeting,
      reasons: ["alreadyInitialized", "unsupportedVersion"], isBatchable: false),
    .immediate { params, call, deadline throws(RPCError) in
      guard call.isFirstRequest else { throw RPCError(.alreadyInitialized) }
      guard params[Params.protocolVersion] >= 1 else {
        throw RPCError(.unsupportedVersion, data: ["supported": [1]])
      }
      guard server.door == nil else { return server.narrowGreeting }
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
    "protocolVersion", .integer(), default: 1, "The newest version that the front end speaks; 1.")
  static let client = TypedField.required(
    "client", .object(fields(Client.name, Client.title, Client.version)), "The front end.")
  static let processID = TypedField.optional(
    "processId", .integer(1...Int64(Int32.max)), "einlass ends when this process ends.")
  static let capabilities = TypedField.optional(
    "capabilities", .object(understood),
    default: [:],
    "The abilities of the front end.")
  static let applications = TypedField.optional(
    "applications", .map(.registration), default: [:],
    "The front end's own registrations, by provider; never stored and never logged.")
  static let locale = TypedField.optional(
    "locale", .string(maxBytes: 64),
    "The person's language, for the pages of providers: a language tag such as de or pt-BR (RFC 5646)."
  )
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
  "prompts", .identifiers(max: 64), default: [],
  "The kinds of prompt that the front end can show; any: every kind.")

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
  fileprivate static let greeting = Schema.object([
    .required("protocolVersion", .integer(1...1), "The version in use from now on."),
    .required("server", .program, "The name and the version of this program."),
    .required(
      "capabilities", .capabilities, "The abilities of this process."),
    .required(
      "understood", .understood,
      "The capabilities of the front end in effect; unknown names and kinds are missing."),
    .required("limits", .limits, "The limits of the protocol, in bytes and counts."),
    .required(
      "store", .greetingStore,
      "The protection and the revision of the store, or the problem with it."),
    .optional(
      "configuration",
      .object([.required("problem", .reference("Problem"), "The problem.")]),
      "The fault of the configuration file, or of a provider file, that cannot be used."),
    .optional(
      "leftOut", .array(.leftOut, max: leftOutLimit),
      "The first 50 added providers that cannot be read."),
  ])

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
    let shown = params[Params.capabilities][shownPrompts]
    prompts = Set(shown.contains("any") ? Prompt.Kind.allCases : shown.compactMap(Prompt.Kind.init))
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

private let initializeDescription = """
  - Recommended. After a refused `initialize` start einlass again.
  - `client.name` is the *application* with the access. The front end declares it itself: a courtesy to the
    person and a part of the audit trail, not a boundary between programs of one user.
  - einlass never sends a prompt of another kind than `capabilities.prompts`. A request that needs one fails with
    `interactionRequired`, and `prompts` names the ways to answer in advance. `any` names every kind, also that of a later
    einlass: it is for a front end that draws `show`.
  - `applications` are registrations of the front end itself. They win over those of the configuration file. They are
    never stored and never logged.
  - `initialize` does not fail because of the store: `store.problem` names the fault.
  - With `changes: true` each change of accounts, access and providers, also by another process, is announced at once. With
    `false`, if the system has no inotify instance left, it is announced at the next request. A front end that sets
    `changes: false` itself hears of no changes, and einlass ends up to 20 ms sooner.
  - With `network: true` in the result, [`network.changed`](#networkstatus) comes. It is `false` without the same word
    in the request, and where the system refuses to report changes.
  - `leftOut` names an added provider that is `like` a missing one, or made by a newer einlass. The others are there.
    `providers.remove` forgets it.
  - Without `initialize`: version 1, application `anonymous`, no prompts, only the notifications of the front end's own
    flows.
  - `locale` reaches the pages of providers that take a language (`hl`, `lang`, `locale`, `ui_locales`), and is the
    `Accept-Language` of the requests to providers. A custom parameter of the same name counts in its place. The texts of
    einlass are English. A text such as `de_DE` is `invalidParams`.
  """
