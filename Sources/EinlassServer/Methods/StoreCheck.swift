internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.check`: reads every page, row and sealed value. Damage is a result, not an error.
func storeCheck(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.check", .network,
      "Reads the whole store and opens each sealed value.", description: storeCheckDescription,
      result: .object([
        .required("sound", .boolean, "true without findings."),
        .required("accounts", .count, "The number of checked accounts."),
        .required("sealedValues", .count, "The number of opened values."),
        .required("countFindings", .count, "The total number of findings."),
        .required(
          "findings",
          .array(
            .object([
              .required(
                "kind", Schema(StoreMaintenance.Finding.Kind.self),
                "The kind: damage, the database contradicts itself; orphan, a row of no account; undecryptable, a value that does not decrypt; bindingMismatch, a changed binding to the places to which a credential may be sent; keyUnavailable, no sealed value could be tried."
              ),
              .optional(
                "account", .identifier,
                "The account of the damaged value; missing if there is none."),
              .required("message", .string(maxBytes: nil), "For people."),
              .required("next", .nextSteps, "The next steps."),
            ]), max: 50), "The first 50 findings."),
      ]),
      reasons: ["accountStoreFailure", "cancelled"]),
    .task { _, call async throws(RPCError) in
      let check = try server.maintain("store.check", for: call) { store, progress throws(Problem) in
        try store.check(progress)
      }
      return [
        "sound": .bool(check.isSound), "accounts": JSONValue(Int64(check.accounts)),
        "sealedValues": JSONValue(Int64(check.sealedValues)),
        "countFindings": JSONValue(Int64(check.countFindings)),
        "findings": .array(check.findings.map(JSONValue.init)),
      ]
    })
}

extension JSONValue {
  fileprivate init(_ finding: StoreMaintenance.Finding) {
    self = .object(
      JSONObject(present: [
        "kind": .string(finding.kind.rawValue),
        // The id in a damaged row may be invalid.
        "account": finding.account.flatMap {
          isIdentifier($0.rawValue) ? .string($0.rawValue) : nil
        },
        "message": .string(finding.message), "next": .array(finding.nextSteps.map(\.json)),
      ]))
  }
}

private let storeCheckDescription = """
  - A store that cannot be opened is an error of each method.
  """
