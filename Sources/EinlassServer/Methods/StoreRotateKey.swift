internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.rotateKey`: seals all values with a new key in one transaction.
func storeRotateKey(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.rotateKey", .network,
      "Seals all values with a new key. The key file still opens that key and is not changed.",
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
