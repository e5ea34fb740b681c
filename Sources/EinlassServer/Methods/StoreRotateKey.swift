internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.rotateKey`: seals all values with a new key in one transaction.
func storeRotateKey(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.rotateKey", .network,
      "Seals each value under a new key: all of them or nothing, at any end of the process.",
      description: storeRotateKeyDescription,
      result: .object([
        .required("sealedValues", .count, "The number of values sealed again."),
        .required(
          "slots", .array(.string(maxBytes: nil), max: nil), "The key slots of the new key."),
        .required(
          "droppedSlots", .array(.string(maxBytes: nil), max: nil),
          "The key slots that could not be opened and were removed."),
      ]),
      reasons: ["accountStoreFailure", "bindingMismatch", "cancelled"]),
    .task { _, call async throws(RPCError) in
      let rotation = try server.maintain("store.rotateKey", for: call) {
        store, progress throws(Problem) in
        try store.rotateKey(progress)
      }
      return [
        "sealedValues": JSONValue(Int64(rotation.sealedValues)),
        "slots": JSONValue(rotation.slots), "droppedSlots": JSONValue(rotation.droppedSlots),
      ]
    })
}

private let storeRotateKeyDescription = """
  - The key file stays as it is. It opens the new key as it opened the old one, in copies too.
  - Other processes that have the store open go on.
  - Slots that the running process cannot open (a passphrase that was not brought) are dropped and named.
  - A value that does not decrypt is refused (`decryptFailed`, with `account`): add that account again or remove it
    first.
  """
