internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// An open store: a connection to its database and the source of its key. Only for the thread that
/// holds the lock of its `SharedStore` around it.
class OpenStore {
  let connection: any Database
  let keys: KeySource

  init(connection: any Database, keys: KeySource) {
    self.connection = connection
    self.keys = keys
  }

  /// Distinguishes this database from another one with the same id, for example a restored copy.
  var place: String { "" }

  var isReadOnly: Bool { false }

  /// Returns the opened key. Uses the secrets fetched before the store was locked. Throws
  /// `keyUnavailable`.
  func storeKey() throws(Problem) -> StoreKey {
    let meta = try connection.meta()
    if let key = openKey(meta) { return key }
    let root = try keys.root(of: try connection.keySlots(), store: meta.store)
    let opened = StoreKey(id: meta.keyID, store: meta.store, root: root)
    keys.opened.withLock { $0 = opened }
    return opened
  }

  /// Returns the key slots and the store's id, or `nil` if the key is open.
  func lockedSlots() throws(Problem) -> (slots: [KeySlot], store: String)? {
    let meta = try connection.meta()
    return openKey(meta) == nil ? (try connection.keySlots(), meta.store) : nil
  }

  private func openKey(_ meta: Meta) -> StoreKey? {
    guard let key = keys.opened.withLock({ $0 }), key.id == meta.keyID, key.store == meta.store
    else { return nil }
    return key
  }

  /// Wraps another key for the slots that can be opened now, and returns them.
  func keySlots(around root: Secret) throws(Problem) -> [KeySlot] {
    try keys.rewrap(try connection.keySlots(), around: root, store: try connection.meta().store)
  }
}
