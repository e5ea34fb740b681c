public import EinlassJSON
internal import EinlassRPC

extension Server {
  /// The protocol as an OpenRPC 1.3 document: `rpc.discover` and `--dump-protocol` are this value,
  /// and `protocol/openrpc.json` is this value with examples, which `protocol/generate` adds.
  ///
  /// It describes `test.advanceClock` even without `--test`, marked `x-testMode`. It leaves out
  /// `test.withoutLeases`, which is a negative control of the tests and not part of the protocol.
  public var protocolDocument: JSONValue {
    var described = methods.map(\.descriptor).filter { $0.name != withoutLeasesName }
    if advanceClock == nil { described.append(testAdvanceClock { _ in }.descriptor) }
    let schemas =
      Schema.texts + documentedComponents.map { (name: $0.key, schema: $0.value.jsonSchema) }
    return [
      "openrpc": "1.3.2",
      "info": [
        "title": "einlass", "version": "1",
        "description":
          "Sign-in over JSON-RPC 2.0. Notifications of the server are the methods without result.",
        "license": ["name": "Apache-2.0"], "x-members": extensionMembers,
      ],
      "methods": .array(
        Lifecycle.allCases.map(Self.document) + described.map(\.openRPC)
          + notifications.map(\.openRPC)),
      "components": [
        "schemas": .object(
          JSONObject(schemas.sorted { $0.name < $1.name }.map { ($0.name, $0.schema) })),
        "errors": .object(errorComponents),
      ],
    ]
  }

  /// Returns the description of a lifecycle method. All but `shutdown` are notifications, and
  /// OpenRPC describes a notification as a method without a result and errors.
  private static func document(_ method: Lifecycle) -> JSONValue {
    guard method != .shutdown, var object = method.descriptor.openRPC.object else {
      return method.descriptor.openRPC
    }
    object["result"] = nil
    object["errors"] = nil
    return .object(object)
  }
}

/// The members of the document that OpenRPC and JSON Schema have not.
private let extensionMembers: JSONValue = [
  "x-members": "The members of this document that OpenRPC and JSON Schema have not.",
  "x-direction": "clientToServer or serverToClient: the sender of the message.",
  "x-class":
    "The longest duration: immediate, network for 30 s, or interactive for as long as a person takes.",
  "x-batchable": "Whether a request may be in a batch.",
  "x-reasons":
    "The reasons of the method's own errors. errors has those of the protocol too.",
  "x-params":
    "A JSON Schema of the whole params, for rules over several parameters. It holds in addition to the schema of each parameter.",
  "x-closed": "Unknown parameters are refused. Otherwise they are ignored.",
  "x-maxBytes": "The longest text in bytes of UTF-8. maxLength counts characters.",
  "x-secret": "The value is a secret: it must not be shown or logged.",
  "x-testMode": "The method exists only in a process started with --test.",
]
