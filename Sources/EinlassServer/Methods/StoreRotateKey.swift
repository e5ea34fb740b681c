internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.rotateKey`: seals all values with a new key in one transaction.
func storeRotateKey(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.rotateKey", .network,
      "Seals everything anew under another key. The key file, which opens that key, stays as it is.",
      result: .object([
        .required("sealedValues", .integer(0...Int64.max), "How many were sealed anew."),
        .required(
          "slots", .array(.string(maxBytes: nil), max: nil), "What opens the key from now on."),
        .required(
          "droppedSlots", .array(.string(maxBytes: nil), max: nil),
          "What could not be opened and opens it no more."),
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
