internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.addKeySlot`: adds a way to open the store's key.
func storeAddKeySlot(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.addKeySlot", .network,
      "Adds a key slot, or replaces the one of the same kind. A passphrase comes from --passphrase-fd or a prompt.",
      params: fields(newKind),
      result: .object([slots]), reasons: ["accountStoreFailure"]),
    .task { params, call async throws(RPCError) in
      let kind = params[newKind]
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
      "Removes a key slot, except the last one. A key file is kept.",
      params: fields(removedKind),
      result: .object([slots]), reasons: ["accountStoreFailure"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        return [
          "slots": JSONValue(
            try server.store.maintenance.removeKeySlot(params[removedKind]))
        ]
      } catch { throw RPCError(error) }
    })
}

private let newKind = TypedField.required(
  "kind", .oneOf(["keyfile", "passphrase", "secretservice", "command"]),
  "The kind of the new slot.")
private let removedKind = TypedField.required(
  "kind", .oneOf(["keyfile", "passphrase", "secretservice", "command", "fd"]),
  "The kind of the removed slot.")

private let slots = Field.required(
  "slots", .array(.string(maxBytes: nil), max: nil), "The key slots.")
