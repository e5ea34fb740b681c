public import Einlass
internal import EinlassSystem

extension SQLiteAccountStore {
  private static let providersLimitBytes = 1 << 20

  /// Returns the user's additions to the provider catalogue: a file beside the store at this path
  /// or, with `nil`, beside the default store.
  public static func providerOverlay(path: String? = nil) -> ProviderOverlay {
    let location = try? StoreLocation(path: path)
    let file = location.map { "\($0.directory)/\($0.providersName)" }
    return ProviderOverlay(
      fileName: location?.providersName,
      stamp: {
        guard let file, let status = FileStatus.at(file) else { return [] }
        return [
          Int64(bitPattern: status.identity.device), Int64(bitPattern: status.identity.inode),
          status.countBytes, status.modifiedAtSeconds, status.modifiedAtNanoseconds,
        ]
      },
      read: { () throws(Problem) in
        let location = try StoreLocation(path: path)
        return try FileProblem.store { () throws(FileError) in
          guard let directory = try SafeDirectory.open(location.directory) else { return nil }
          return try directory.read(location.providersName, limitBytes: providersLimitBytes)
        }
      },
      change: { edit throws(Problem) in
        let location = try StoreLocation(path: path)
        let directory = try FileProblem.store { () throws(FileError) in
          try SafeDirectory.create(location.directory)
        }
        var lock = try FileProblem.store { () throws(FileError) in
          try FileLock(location.providersName + ".lock", in: directory)
        }
        let isOurs = try FileProblem.store { () throws(FileError) in
          try lock.acquire(.exclusive, by: AccountStore.Patience.usual.deadline)
        }
        let file = directory.path(of: location.providersName)
        guard isOurs else { throw .storeLocked(path: file) }
        defer { lock.release() }
        let before = try FileProblem.store { () throws(FileError) in
          try directory.read(location.providersName, limitBytes: providersLimitBytes)
        }
        let after = try edit(before)
        try FileProblem.store { () throws(FileError) in
          try directory.replace(
            location.providersName, after, temporaryName: location.providersName + ".new")
        }
        // Rings the watch of other processes, which is on the store's lock.
        try? FileLock(location.lockName, in: directory).announceChange()
      })
  }
}

extension MemoryAccountStore {
  /// Returns additions to the provider catalogue in memory.
  public static func makeProviderOverlay() -> ProviderOverlay {
    let text = Lock<[UInt8]?>(nil)
    return ProviderOverlay(
      read: { () throws(Problem) in text.withLock { $0 } },
      change: { edit throws(Problem) in
        try text.withLock { text throws(Problem) in text = try edit(text) }
      })
  }
}
