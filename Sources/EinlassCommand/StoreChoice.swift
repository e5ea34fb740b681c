internal import Einlass
internal import EinlassServer
internal import EinlassStorage
internal import EinlassSystem

/// The store that the options name, and everything that is kept with it.
enum StoreChoice {
  case memory(Options)
  /// A file; at the usual place without a path.
  case file(path: String?, Options)
  case database(PostgresAccountStore)
  /// An address that cannot be used.
  case unusable(Problem)

  init(_ options: Options, keyCommand: [String]) {
    guard let store = options.store, store != "memory" else {
      self = options.store == nil ? .file(path: nil, options) : .memory(options)
      return
    }
    guard PostgresAccountStore.isAddress(store) else {
      self = .file(path: store, options)
      return
    }
    do throws(Problem) {
      self = .database(
        try PostgresAccountStore(
          address: store, keyFile: options.keyFile, keyDescriptor: options.keyDescriptor,
          passphraseDescriptor: options.passphraseDescriptor,
          filePassphraseDescriptor: options.filePassphraseDescriptor, keyCommand: keyCommand))
    } catch {
      self = .unusable(error)
    }
  }

  func store(keyCommand: [String]) -> AccountStore {
    switch self {
    case .memory(let options):
      MemoryAccountStore.make(
        passphraseDescriptor: options.passphraseDescriptor,
        filePassphraseDescriptor: options.filePassphraseDescriptor)
    case .file(let path, let options):
      SQLiteAccountStore.open(
        path: path, keyFile: options.keyFile, keyDescriptor: options.keyDescriptor,
        passphraseDescriptor: options.passphraseDescriptor,
        filePassphraseDescriptor: options.filePassphraseDescriptor, keyCommand: keyCommand)
    case .database(let database): database.accountStore
    case .unusable(let problem): AccountStore(failing: problem)
    }
  }

  func auditLines(isRequired: Bool) -> AuditLines {
    switch self {
    case .memory: MemoryAccountStore.makeAuditLines()
    case .file(let path, _): SQLiteAccountStore.auditLines(path: path, isDurable: isRequired)
    case .database(let database): database.auditLines(isAwaited: isRequired)
    case .unusable(let problem): AuditLines(failing: problem)
    }
  }

  var overlay: ProviderOverlay {
    switch self {
    case .memory: MemoryAccountStore.makeProviderOverlay()
    case .file(let path, _): SQLiteAccountStore.providerOverlay(path: path)
    case .database(let database): database.providerOverlay
    case .unusable(let problem):
      ProviderOverlay(
        read: { () throws(Problem) in throw problem },
        change: { _ throws(Problem) in throw problem })
    }
  }

  /// Makes the watch of changes by other processes; `nil` if there are none.
  var watching: ChangeFeed.Watching? {
    switch self {
    case .memory, .unusable: return nil
    case .file(let path, _):
      guard let sign = SQLiteAccountStore.changeSign(path: path) else { return nil }
      return { () throws(SystemError) in ChangeFeed.Ring(try FileWatch(sign)) }
    case .database(let database):
      return { () throws(SystemError) in
        let listener = try database.listen()
        return ChangeFeed.Ring(number: listener.number) { listener.clear() }
      }
    }
  }
}
