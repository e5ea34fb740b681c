internal import Einlass
internal import EinlassCrypto

/// The row of `meta`.
struct Meta: Equatable {
  /// The store's id: 128 random bits in hexadecimal.
  var store: String
  var revision: Int64
  var keyID: [UInt8]
  /// The number of values sealed with the key.
  var encryptions: Int64

  static let columns = "store, revision, key_id, encryptions"
  static let selection = "SELECT \(columns) FROM meta WHERE id = 1"

  fileprivate init(_ row: any Row) throws(Problem) {
    store = try row.text(0)
    revision = try row.integer(1)
    keyID = try row.blob(2)
    encryptions = try row.integer(3)
  }
}

/// The number of values that one key may seal. NIST SP 800-38D allows 2^32 random nonces for one
/// key.
enum SealLimit: Int64 {
  case usual = 0x8000_0000
  /// A renewed token cannot be asked for again, so it may use the other half.
  case renewal = 0x1_0000_0000
}

extension Database {
  func meta() throws(Problem) -> Meta {
    let meta = try first(Meta.selection) { row throws(Problem) in try Meta(row) }
    // The store's id becomes part of a file name.
    guard let meta, Hexadecimal.decode(meta.store)?.count == 16,
      meta.keyID.count == StoreKey.idCount
    else { throw Problem.damaged(path, "no store id") }
    return meta
  }

  func insertMeta(store: String, keyID: [UInt8]) throws(Problem) {
    try run(
      "INSERT INTO meta (id, store, revision, key_id, encryptions) VALUES (1, ?1, 0, ?2, 0)",
      .text(store), .blob(keyID))
  }

  /// The refusal of a store that a newer einlass has made or changed. The einlass that it needs is
  /// read by `selection`.
  func tooNew(_ what: String, needs selection: String? = nil) -> Problem {
    let needs = selection.flatMap { selection in
      try? first(selection) { row throws(Problem) in try row.text(0) }
    }
    var words = "is from a newer einlass"
    // The file may be of a stranger.
    if let needs, 1..<20 ~= needs.utf8.count, needs.allSatisfy({ "0123456789.".contains($0) }) {
      words = "needs einlass \(needs)"
    }
    return .store(.tooNew, "The account store \(path) \(words) (\(what)).", path: path)
  }

  /// Increments the revision and returns it. Called by every transaction that changes the store.
  /// `count` is the number of values that the transaction seals.
  func nextRevision(sealing count: Int = 0, _ limit: SealLimit = .usual) throws(Problem) -> Int64 {
    try requireSeals(count, limit)
    return try change("revision = revision + 1, encryptions = encryptions + ?1", count).revision
  }

  /// Counts the values sealed with the key.
  func countEncryptions(_ count: Int) throws(Problem) {
    try requireSeals(count, .usual)
    _ = try change("encryptions = encryptions + ?1", count)
  }

  private func change(_ columns: String, _ count: Int) throws(Problem) -> Meta {
    let rows = try all(
      "UPDATE meta SET \(columns) WHERE id = 1 RETURNING \(Meta.columns)", .integer(Int64(count))
    ) { row throws(Problem) in try Meta(row) }
    guard let meta = rows.first else { throw .damaged(path, "no store id") }
    return meta
  }

  private func requireSeals(_ count: Int, _ limit: SealLimit) throws(Problem) {
    guard count > 0 else { return }
    guard try meta().encryptions <= limit.rawValue - Int64(count) else {
      var problem = Problem.store(
        .refused, "The key of the account store \(path) has reached its safe number of uses.",
        path: path)
      problem.hint = .init("store.rotateKey")
      throw problem
    }
  }

  /// Replaces the key's id, its use count and its slots.
  func replaceKey(id: [UInt8], encryptions: Int, slots: [KeySlot]) throws(Problem) {
    try run(
      "UPDATE meta SET key_id = ?1, encryptions = ?2, revision = revision + 1 WHERE id = 1",
      .blob(id), .integer(Int64(encryptions)))
    try run("DELETE FROM keyslot")
    for slot in slots { try insert(slot) }
  }

  func keySlots() throws(Problem) -> [KeySlot] {
    try all("SELECT id, kind, parameters, salt, wrapped_key FROM keyslot ORDER BY id") {
      row throws(Problem) in
      KeySlot(
        id: try row.integer(0), kind: try row.word(1), parameters: try row.text(2),
        salt: try row.blob(3), wrappedKey: try row.blob(4))
    }
  }

  func insert(_ slot: KeySlot) throws(Problem) {
    try run(
      "INSERT INTO keyslot (id, kind, parameters, salt, wrapped_key) VALUES (?1, ?2, ?3, ?4, ?5)",
      .integer(slot.id), .text(slot.kind.rawValue), .text(slot.parameters), .blob(slot.salt),
      .blob(slot.wrappedKey))
  }
}
