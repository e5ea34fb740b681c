internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.status`: returns the store's location and the protection of its key. It never opens the
/// key.
func storeStatus(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.status", .immediate,
      "The path of the store, the protection of its key, and its sizes.",
      description: storeStatusDescription,
      result: .object([
        .optional("path", .string(maxBytes: nil), "The database; missing for one in memory."),
        .required("exists", .boolean, "Whether the store exists; the first change creates it."),
        .required(
          "protection", .string(maxBytes: nil),
          "The protection of the key: keyfile, command, secretservice, passphrase, fd or memory; with several slots, the weakest one."
        ),
        .required("slots", .array(.string(maxBytes: nil), max: nil), "The key slots."),
        .optional(
          "unlockedUntil", .unixTime,
          "The time until which store.unlock lets every program of this user open the store."),
        .required("schema", .count, "The schema version of the database."),
        .revision,
        .required("accounts", .count, "The number of accounts."),
        .required("databaseBytes", .count, "The size of the database in bytes."),
        .required("journalBytes", .count, "The size of its journal in bytes."),
        .required("readOnly", .boolean, "Whether it cannot be written now."),
        .optional(
          "holder", .integer(1...Int64(Int32.max)),
          "The id of another process that blocks changes now."),
        .required(
          "keyUses", .count, "The number of values sealed with the key; the limit is 2^31."),
        .required("memoryLocked", .boolean, "Whether keys in memory are kept out of swap files."),
        .optional("sqlite", .string(maxBytes: nil), "The version of the database library."),
        .optional("database", database, "The server of a store in PostgreSQL."),
        .required("next", .nextSteps, "The next steps for what is not well; empty if all is."),
      ]),
      reasons: ["accountStoreFailure"]),
    .immediate { _, _, deadline throws(RPCError) in
      try server.withStore(by: deadline) { patience throws(Problem) in
        JSONValue(
          try server.store.maintenance.status(patience), now: server.einlass.effects.now())
      }
    })
}

private let database = Schema.object([
  .required("version", .string(maxBytes: nil), "The version of PostgreSQL."),
  .required("durable", .boolean, "Whether a stored change survives a crash of the server."),
  .required(
    "standby", .string(maxBytes: nil),
    "none, asynchronous (a promotion may lose the last changes) or synchronous."),
  .required("tls", .boolean, "Whether the connection is encrypted by TLS."),
  .required("pooled", .boolean, "Whether a pooler stands before the server."),
  .required(
    "clockOffset", .integer(Int64(Int32.min)...Int64(Int32.max)),
    "The seconds by which its clock is ahead of this machine's."),
])

extension JSONValue {
  fileprivate init(_ database: StoreMaintenance.Database, now: UnixTime) {
    self = .object([
      "version": .string(database.version), "durable": .bool(database.isDurable),
      "standby": .string(database.standby.rawValue), "tls": .bool(database.usesTLS),
      "pooled": .bool(database.isPooled),
      "clockOffset": JSONValue(Int64(Int32(clamping: database.time &- now))),
    ])
  }

  fileprivate init(_ status: StoreMaintenance.Status, now: UnixTime) {
    self = .object(
      JSONObject(present: [
        "path": status.path.map(JSONValue.string), "exists": .bool(status.exists),
        "protection": .string(status.protection), "slots": JSONValue(status.slots),
        "unlockedUntil": status.unlockedUntil.map { JSONValue($0) },
        "schema": JSONValue(status.schema), "revision": JSONValue(status.revision),
        "accounts": JSONValue(status.accounts),
        "databaseBytes": JSONValue(status.databaseBytes),
        "journalBytes": JSONValue(status.journalBytes), "readOnly": .bool(status.isReadOnly),
        "holder": status.holder.map { JSONValue(Int64($0)) }, "keyUses": JSONValue(status.keyUses),
        "memoryLocked": .bool(status.isMemoryLocked), "sqlite": status.sqlite.map(JSONValue.string),
        "database": status.database.map { JSONValue($0, now: now) },
        "next": .array(status.nextSteps.map(\.json)),
      ]))
  }
}

private let storeStatusDescription = """
  - It opens no key and creates no store.
  """
