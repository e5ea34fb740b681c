public import EinlassJSON
internal import EinlassRPC

extension Server {
  /// The protocol of this binary as an OpenRPC 1.3 document: `rpc.discover`, `--dump-protocol` and
  /// `protocol/openrpc.json` are these bytes.
  ///
  /// The same with and without `--test`: what exists only there is marked `x-testMode`.
  public var protocolDocument: JSONValue {
    var described = methods.map(\.descriptor)
    if advanceClock == nil { described.append(testAdvanceClock { _ in }.descriptor) }
    return [
      "openrpc": "1.3.2",
      "info": [
        "title": "einlass", "version": "1",
        "description":
          "Sign-in over line-delimited JSON-RPC 2.0. Notifications of the server are the methods without result.",
        "license": ["name": "Apache-2.0"],
      ],
      "methods": .array(
        Lifecycle.allCases.map(Self.document) + described.map(\.openRPC)
          + notifications.map(\.openRPC)),
      "components": [
        "schemas": .object(
          JSONObject(components.sorted { $0.key < $1.key }.map { ($0.key, $0.value.jsonSchema) }))
      ],
    ]
  }

  /// Of these only `shutdown` is a request; the others are notifications, in OpenRPC methods without a result.
  private static func document(_ method: Lifecycle) -> JSONValue {
    guard method != .shutdown, var object = method.descriptor.openRPC.object else {
      return method.descriptor.openRPC
    }
    object["result"] = nil
    return .object(object)
  }
}
