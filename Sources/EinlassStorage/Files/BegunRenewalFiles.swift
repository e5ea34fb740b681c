internal import Einlass
internal import EinlassSystem

extension BegunRenewals {
  /// Returns the begun renewals of a store on disk: an empty file for each,
  /// `renewals/<account>.<generation>` beside the store. The files are not synced, because a power
  /// cut lasts longer than any server's grace period.
  ///
  /// A process with a begun renewal keeps the store's lock file open for writing. The kernel closes
  /// it when the process ends, and the close wakes the processes that watch the store.
  static func beside(_ location: StoreLocation) -> BegunRenewals {
    let path = location.directory + "/renewals"
    let watched = Lock<FileLock?>(nil)
    return BegunRenewals(
      begin: { begun in
        watched.withLock { watched in
          guard watched == nil, let directory = try? SafeDirectory.open(location.directory) else {
            return
          }
          watched = try? FileLock(location.lockName, in: directory)
        }
        try? SafeDirectory.create(path).createEmpty(begun.fileName)
      },
      end: { begun in
        try? SafeDirectory.open(path)?.remove(begun.fileName)
      },
      all: {
        Set((try? SafeDirectory.open(path)?.names())?.compactMap(BegunRenewal.init) ?? [])
      })
  }
}

extension BegunRenewal {
  fileprivate var fileName: String { "\(account.rawValue).\(generation)" }

  /// Returns `nil` for a file that einlass did not write.
  fileprivate init?(fileName: String) {
    let parts = fileName.split(separator: ".")
    guard parts.count == 2, let generation = Int64(parts[1]), generation >= 0 else { return nil }
    self.init(account: Account.ID(rawValue: String(parts[0])), generation: generation)
  }
}
