internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.check`: reads every page, row and sealed value. Damage is a result, not an error.
func storeCheck(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.check", .network,
      "Whether the store is sound: reads all of it and opens every sealed value.",
      result: .object([
        .required("sound", .boolean, "Whether nothing was found."),
        .required("accounts", .integer(0...Int64.max), "How many were looked at."),
        .required("sealedValues", .integer(0...Int64.max), "How many were tried."),
        .required("countFindings", .integer(0...Int64.max), "How many there are in all."),
        .required(
          "findings",
          .array(
            .object([
              .required("kind", Schema(StoreMaintenance.Finding.Kind.self), "What is unsound."),
              .optional("account", .identifier, "Whose; missing when it is nobody's."),
              .required("message", .string(maxBytes: nil), "For people."),
            ]), max: 50), "The first ones."),
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
        "message": .string(finding.message),
      ]))
  }
}
