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

  static let selection = "SELECT store, revision, key_id, encryptions FROM meta WHERE id = 1"
}

extension Database {
  func meta() throws(Problem) -> Meta {
    let meta = try first(Meta.selection) { row throws(Problem) in
      Meta(
        store: try row.text(0), revision: try row.integer(1), keyID: try row.blob(2),
        encryptions: try row.integer(3))
    }
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

  /// Increments the revision and returns it. Called by every transaction that changes the store,
  /// except a key rotation.
  func nextRevision() throws(Problem) -> Int64 {
    let revisions = try all(
      "UPDATE meta SET revision = revision + 1 WHERE id = 1 RETURNING revision"
    ) { row throws(Problem) in try row.integer(0) }
    guard let revision = revisions.first else { throw .damaged(path, "no store id") }
    return revision
  }

  /// Counts the values sealed with the key. NIST SP 800-38D allows 2^32 random nonces for one key;
  /// the limit here is half of that.
  func countEncryptions(_ count: Int) throws(Problem) {
    guard try meta().encryptions <= 1 << 31 - Int64(count) else {
      throw .store(
        .refused,
        "The key of the account store \(path) has reached its safe number of uses. Rotate it with einlassctl store rotate-key.",
        path: path)
    }
    try run(
      "UPDATE meta SET encryptions = encryptions + ?1 WHERE id = 1", .integer(Int64(count)))
  }

  /// Replaces the key's id, its use count and its slots.
  func replaceKey(id: [UInt8], encryptions: Int, slots: [KeySlot]) throws(Problem) {
    try run(
      "UPDATE meta SET key_id = ?1, encryptions = ?2 WHERE id = 1", .blob(id),
      .integer(Int64(encryptions)))
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
