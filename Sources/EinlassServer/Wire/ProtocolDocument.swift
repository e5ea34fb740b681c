public import EinlassJSON
internal import EinlassRPC

extension Server {
  /// The protocol as an OpenRPC 1.3 document: `rpc.discover`, `--dump-protocol` and
  /// `protocol/openrpc.json` are these bytes.
  ///
  /// It describes `test.advanceClock` even without `--test`, marked `x-testMode`. It leaves out
  /// `test.withoutLeases`, which is a negative control of the tests and not part of the protocol.
  public var protocolDocument: JSONValue {
    var described = methods.map(\.descriptor).filter { $0.name != withoutLeasesName }
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

  /// Returns the description of a lifecycle method. All but `shutdown` are notifications, and
  /// OpenRPC describes a notification as a method without a result.
  private static func document(_ method: Lifecycle) -> JSONValue {
    guard method != .shutdown, var object = method.descriptor.openRPC.object else {
      return method.descriptor.openRPC
    }
    object["result"] = nil
    return .object(object)
  }
}
