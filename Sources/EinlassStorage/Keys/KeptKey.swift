internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The secret of a passphrase slot that the kernel keeps after `store.unlock`, so that programs without a person open the
/// store.
///
/// It is the slot's secret and not the store's key, because the seal of the slot shows whether it fits: a slot with another
/// passphrase makes it useless.
struct KeptKey {
  let secret: Secret
  /// The time at which the kernel forgets it.
  let end: UnixTime

  private static let endCount = 8

  init(_ secret: Secret, until end: UnixTime) { (self.secret, self.end) = (secret, end) }

  /// Asks the kernel. Returns `nil` if it keeps none for this store.
  init?(of store: String) {
    let count = Self.endCount + AuthenticatedEncryption.keyCount
    guard let bytes = KernelKeyring.read(Self.name(store), count: count) else { return nil }
    end = bytes[..<Self.endCount].reduce(0) { $0 << 8 | UnixTime($1) }
    secret = Secret(Array(bytes[Self.endCount...]))
  }

  /// Gives it to the kernel, in place of an earlier one. Throws `refused` if the kernel takes none.
  func keep(for store: String, seconds: UInt32) throws(Problem) {
    let bytes = (1...Self.endCount).map { UInt8(truncatingIfNeeded: end >> (64 - 8 * $0)) }
    do throws(SystemError) {
      try KernelKeyring.keep(bytes + secret.reveal(), as: Self.name(store), seconds: seconds)
    } catch { throw .noKernelKeyring(error) }
  }

  /// Lets the kernel forget it. Returns whether there was one.
  @discardableResult static func forget(_ store: String) -> Bool {
    KernelKeyring.forget(name(store))
  }

  private static func name(_ store: String) -> String { "einlass-store:\(store)" }
}

extension KeySource {
  /// Returns the kept secret that opens this slot; `nil` if there is none, or another secret was named at the start.
  func kept(for slot: KeySlot, store: String) -> KeptKey? {
    guard slot.kind == .passphrase, choice == .usual, passphrase == nil,
      let kept = KeptKey(of: store), slot.unwrap(store: store, with: kept.secret) != nil
    else { return nil }
    return kept
  }
}

extension StoreMaintenance {
  /// Gives the secret of the passphrase slot to the kernel for these seconds. Throws `refused` without such a slot or
  /// keyring, also without a passphrase here, and `keyUnavailable` for a wrong one.
  static func unlock(
    _ typed: Secret?, seconds: UInt32, until end: UnixTime, _ shared: any SharedStore,
    keys: KeySource
  ) throws(Problem) {
    let found = try shared.read(.usual) { store throws(Problem) in
      (slots: try store.connection.keySlots(), store: try store.connection.meta().store)
    }
    guard let found else { throw shared.nothingThere }
    guard found.slots.contains(where: { $0.kind == .passphrase }) else {
      throw .store(
        .refused, "No passphrase opens the account store.", advice: .addSlotFirst,
        command: "einlassctl store slots add passphrase")
    }
    do throws(SystemError) { try KernelKeyring.requireAllowed() } catch {
      throw .noKernelKeyring(error)
    }
    guard let typed else { return }
    let secret = try keys.secret(of: typed, for: found.slots, store: found.store)
    try KeptKey(secret, until: end).keep(for: found.store, seconds: seconds)
  }

  /// Lets the kernel forget the secret of this store. Returns whether there was one.
  static func lock(_ shared: any SharedStore) throws(Problem) -> Bool {
    let store = try shared.read(.usual) { store throws(Problem) in try store.connection.meta().store
    }
    guard let store else { throw shared.nothingThere }
    return KeptKey.forget(store)
  }
}

extension Problem {
  fileprivate static func noKernelKeyring(_ error: SystemError) -> Problem {
    .store(
      .refused,
      "The kernel keeps no key for this program, as in most containers (error \(error.number)).",
      advice: .useOtherSlot, command: "einlassctl store slots add secretservice")
  }
}
