internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// `accounts.list`: returns the stored accounts in order of adding. It needs no grant and never
/// opens the key.
func accountsList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.list", .immediate,
      "The stored accounts in order of adding. Opens no key and shows no prompt.",
      params: fields(listedProvider, .limit, .cursor),
      result: .object([
        .revision, .required("accounts", .array(.reference("Account"), max: nil), "The accounts."),
        .nextCursor,
      ]),
      reasons: ["accountStoreFailure", "invalidCursor"]),
    .immediate { params, _, deadline throws(RPCError) in
      let question = try AccountsQuestion(params, of: server.session.application)
      return try server.withStore(by: deadline) { patience throws(Problem) in
        try server.store.read(patience) { reader throws(Problem) in
          // Next steps and the addresses of services are the person's.
          if server.door != nil { return .object(try question.narrowPage(reader, server.log)) }
          return .object(
            try server.lastAccounts.page(
              question, reader, { server.catalog }, server.log, at: server.effects.now()))
        }
      }
    })
}

private let listedProvider = TypedField.optional(
  "provider", .identifier, "Only those of this provider.")

/// The parameters of `accounts.list` and the calling application.
struct AccountsQuestion: Equatable {
  private var application: String
  private var position: Int64?
  private var provider: String?
  private var limit: Int64?

  init(_ params: JSONObject, of application: String) throws(RPCError) {
    self.application = application
    if let cursor = params[.cursor] {
      guard let position = Int64(cursor) else { throw RPCError(.invalidCursor) }
      self.position = position
    }
    provider = params[listedProvider]
    limit = params[.limit]
  }

  static func == (left: AccountsQuestion, right: AccountsQuestion) -> Bool {
    left.position == right.position && left.limit == right.limit
      && sameBytes(left.application, right.application)
      && left.provider.map(JSONValue.string) == right.provider.map(JSONValue.string)
  }

  /// Reads the page with these parameters.
  fileprivate func page(
    _ reader: any StoreReader, _ catalog: () -> ProviderCatalog, _ log: Log, at now: UnixTime
  ) throws(Problem) -> JSONObject {
    try page(reader, log) { JSONValue($0, for: application, catalog, at: now) }
  }

  /// Reads the page with these parameters behind a door.
  fileprivate func narrowPage(_ reader: any StoreReader, _ log: Log) throws(Problem) -> JSONObject {
    try page(reader, log) { JSONValue($0, for: application) }
  }

  private func page(
    _ reader: any StoreReader, _ log: Log, encode: (Account) -> JSONValue
  ) throws(Problem) -> JSONObject {
    var result: JSONObject = ["revision": JSONValue(try reader.revision)]
    let page = try Pages.page(
      "accounts", limit: limit, log: log, cursor: { String($0.position) },
      encode: encode,
      piece: { (last: Account?, count) throws(Problem) in
        try reader.accounts(
          of: provider, after: last?.position ?? position ?? .min, limit: count)
      })
    for member in page.members { result[member.name] = member.value }
    return result
  }
}

/// The last page of a small store, encoded. Front ends repeat the same question, and an unchanged
/// store returns an equal snapshot.
final class LastAccounts: Sendable {
  private struct Page {
    var question: AccountsQuestion
    var snapshot: AccountStore.Snapshot
    var members: JSONObject
  }

  private let last = Lock<Page?>(nil)

  /// Returns the page for this question, from memory if the store has not changed.
  func page(
    _ question: AccountsQuestion, _ reader: any StoreReader, _ catalog: () -> ProviderCatalog,
    _ log: Log, at now: UnixTime
  ) throws(Problem) -> JSONObject {
    guard let snapshot = reader.whole else {
      return try question.page(reader, catalog, log, at: now)
    }
    return try last.withLock { last throws(Problem) in
      // Equal snapshots mostly share their arrays, so the comparison is cheap.
      if let last, last.question == question, last.snapshot == snapshot { return last.members }
      // The catalogue changes, and a refusal ends, without a change of the store.
      var usesCatalog = false
      let page = try question.page(
        snapshot,
        {
          usesCatalog = true
          return catalog()
        }, log, at: now
      ).keepingText()
      let isRefused = snapshot.accounts.contains { account in
        account.serviceRefusals.contains { !$0.service.isEmpty && $0.isActive(at: now) }
      }
      guard !isRefused, !usesCatalog else { return page }
      last = Page(question: question, snapshot: snapshot, members: page)
      return page
    }
  }
}

extension JSONValue {
  /// Makes the `Account` of the protocol with its refused credentials and its next steps. An account
  /// that works needs no catalogue.
  fileprivate init(
    _ account: Account, for application: String, _ catalog: () -> ProviderCatalog, at now: UnixTime
  ) {
    self.init(account, for: application)
    let whole = account.refusedResources.map { resource in
      JSONObject(present: ["resource": resource.isEmpty ? nil : .string(resource)])
    }
    let parts = account.serviceRefusals.filter { !$0.service.isEmpty && $0.isActive(at: now) }.map {
      refusal in
      let resource = refusal.place.resource
      return JSONObject(present: [
        "address": .string(refusal.service), "endsAt": JSONValue(refusal.endsAt),
        "resource": resource.isEmpty ? nil : .string(resource),
      ])
    }
    let steps = account.nextSteps(at: try? catalog().provider(account.provider))
    guard !whole.isEmpty || !parts.isEmpty || !steps.isEmpty, var object else { return }
    if !steps.isEmpty { object["next"] = .array(steps.map(\.json)) }
    if !whole.isEmpty || !parts.isEmpty {
      object["refusals"] = .array((whole + parts).map(JSONValue.object))
    }
    self = .object(object)
  }
}
