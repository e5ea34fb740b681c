internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.addKeySlot`: adds a way to open the store's key.
func storeAddKeySlot(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.addKeySlot", .network,
      "Adds a way to open the store's key, in the place of one of the same kind. A passphrase comes by --passphrase-fd, or is asked for.",
      params: [
        .required(
          "kind", .oneOf(["keyfile", "passphrase", "secretservice"]), "What opens it from now on.")
      ],
      result: .object([slots]), reasons: ["accountStoreFailure"]),
    .task { params, call async throws(RPCError) in
      let kind = params["kind"]?.string ?? ""
      do throws(Problem) {
        let passphrase =
          kind == "passphrase"
          ? try await server.passphrase(
            Prompt.Passphrase(.keySlot, path: nil, isNew: true), for: call) : nil
        let slots = try await server.inTurn { () throws(Problem) in
          try server.store.maintenance.addKeySlot(kind, passphrase)
        }
        return ["slots": JSONValue(slots)]
      } catch { throw RPCError(error) }
    })
}

/// `store.removeKeySlot`: removes a way to open the store's key.
func storeRemoveKeySlot(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.removeKeySlot", .network,
      "Removes a way to open the store's key, never the last one. A key file stays where it is.",
      params: [
        .required(
          "kind", .oneOf(["keyfile", "passphrase", "secretservice", "fd"]),
          "What does not open it any more.")
      ],
      result: .object([slots]), reasons: ["accountStoreFailure"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        return [
          "slots": JSONValue(
            try server.store.maintenance.removeKeySlot(params["kind"]?.string ?? ""))
        ]
      } catch { throw RPCError(error) }
    })
}

private let slots = Field.required(
  "slots", .array(.string(maxBytes: nil), max: nil), "Every way to open the key.")
