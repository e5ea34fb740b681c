internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

extension StoreMaintenance {
  /// Maintenance of a store in an SQLite file.
  static func ofFile(_ file: StoreFile, keys: KeySource) -> StoreMaintenance {
    .ofDatabase(
      file, keys: keys,
      status: { patience throws(Problem) in
        var status = StoreMaintenance.Status(
          path: file.location.path, protection: keys.kind.rawValue)
        if let found = try file.read(patience, { store throws(Problem) in try store.status() }) {
          status = found
        }
        status.databaseBytes = FileStatus.at(file.location.path)?.countBytes ?? 0
        status.journalBytes = FileStatus.at(file.location.path + "-wal")?.countBytes ?? 0
        status.sqlite = SQLiteConnection.sqliteVersion
        status.holder = file.location.otherHolder
        return status
      },
      backup: { path, progress throws(Problem) in
        let copy = try file.copy { store throws(Problem) in try store.copy(to: path, progress) }
        guard let copy else { throw file.nothingThere }
        return copy
      })
  }

  /// Maintenance of a store in a database. The arguments after the keys differ between engines.
  static func ofDatabase(
    _ shared: any SharedStore, keys: KeySource,
    status: @escaping @Sendable (AccountStore.Patience) throws(Problem) -> Status,
    backup: @escaping @Sendable (String, Progress) throws(Problem) -> Backup
  ) -> StoreMaintenance {
    StoreMaintenance(
      status: status,
      check: { progress throws(Problem) in
        try shared.read(.usual, withKey: true) { store throws(Problem) in
          try store.inspect(progress)
        } ?? Check()
      },
      backup: backup,
      move: { [name = keys.location.path] place, progress throws(Problem) in
        try StorePlace(name).move(to: StorePlace(place), progress)
      },
      rotateKey: { progress throws(Problem) in
        var name = ""
        let rotation = try shared.change(.usual, withKey: true, leavingNoTrace: true) {
          store throws(Problem) in
          name = try store.connection.meta().store
          return try store.rotateKey(progress)
        }
        guard let rotation else { throw shared.nothingThere }
        // It was kept for the old key, and would open the new one too.
        KeptKey.forget(name)
        return rotation
      },
      addKeySlot: { kind, passphrase throws(Problem) in
        try addKeySlot(KeySlot.Kind(word: kind), opening: passphrase, to: shared, keys: keys)
      },
      removeKeySlot: { kind throws(Problem) in
        try removeKeySlot(KeySlot.Kind(word: kind), from: shared, keys: keys)
      },
      unlock: { passphrase, seconds, end throws(Problem) in
        try unlock(passphrase, seconds: seconds, until: end, shared, keys: keys)
      },
      lock: { () throws(Problem) in try lock(shared) },
      openKey: { passphrase throws(Problem) in try openKey(of: shared, keys: keys, passphrase) },
      passphrase: { isOfFile throws(Problem) in
        let ofFile = isOfFile ? keys.filePassphrase : nil
        return try (ofFile ?? keys.passphrase)?.fetch(by: AccountStore.Patience.usual.deadline)
      },
      auditKey: { patience throws(Problem) in try shared.auditKey(patience) })
  }
}

extension StoreMaintenance {
  /// Opens the key with the configured secrets or the given passphrase. The passphrase is kept only
  /// if it fits, and is ignored if the key is already open.
  private static func openKey(
    of shared: any SharedStore, keys: KeySource, _ passphrase: Secret?
  ) throws(Problem) {
    if let passphrase {
      let locked = try shared.read(.usual) { store throws(Problem) in try store.lockedSlots() }
      if let (slots, name) = locked ?? nil { try keys.accept(passphrase, for: slots, store: name) }
    }
    _ = try shared.read(.usual, withKey: true) { store throws(Problem) in try store.storeKey() }
  }
}

extension KeySlot.Kind {
  /// Throws `invalidParameter` for an unknown word.
  fileprivate init(word: String) throws(Problem) {
    guard let kind = KeySlot.Kind(rawValue: word) else {
      throw Problem(.invalidParameter, "This kind of key slot is unknown.", path: "/kind")
    }
    self = kind
  }
}

extension StoreLocation {
  /// The id of another process that holds the store's lock, if this process can see it.
  var otherHolder: Int? {
    guard let directory = try? SafeDirectory.open(self.directory),
      var lock = try? FileLock.existing(lockName, in: directory),
      (try? lock.acquire(.shared, by: .now)) == false,
      let holder = lock.holder, holder != Int(ThisProcess.id)
    else { return nil }
    return holder
  }

  var nothingThere: Problem {
    .store(
      .refused, "There is no account store at \(path) yet.", advice: .addFirst, path: path)
  }
}

extension OpenStore {
  /// Returns the weakest recorded kind of protection, because a key file opens the store by itself.
  func protection() throws(Problem) -> String {
    let kinds = try connection.keySlots().map(\.kind)
    guard let kind = KeySlot.Kind.allCases.first(where: kinds.contains) else {
      throw Problem.damaged(connection.path, "no key slot")
    }
    return kind.rawValue
  }

  /// Returns the facts that stand in the rows.
  func status() throws(Problem) -> StoreMaintenance.Status {
    let meta = try connection.meta()
    var status = StoreMaintenance.Status(path: connection.path, protection: try protection())
    status.exists = true
    let slots = try connection.keySlots()
    status.slots = slots.map(\.kind.rawValue)
    status.unlockedUntil = slots.compactMap { keys.kept(for: $0, store: meta.store)?.end }.first
    status.schema = try connection.schema()
    status.revision = meta.revision
    status.accounts = try connection.countAccounts()
    status.isReadOnly = isReadOnly
    status.keyUses = meta.encryptions
    return status
  }

}

extension OpenFile {
  /// Copies the store to an unused name and checks the copy.
  fileprivate func copy(
    to path: String, _ progress: StoreMaintenance.Progress
  ) throws(Problem) -> StoreMaintenance.Backup {
    let (parent, name) = SafeDirectory.split(path)
    guard path.utf8.first == UInt8(ascii: "/"), !["", ".", ".."].contains(name) else {
      throw Problem(
        .invalidParameter, "The path of a copy must be absolute and name a file.", path: "/path")
    }
    // Others may list the directory, because the copy is private from its first byte.
    let found = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.open(parent, others: .mayRead)
    }
    guard let directory = found else {
      throw .store(
        .refused, "There is no directory \(parent).", advice: .createFolder, path: parent)
    }
    try progress(0, 2)
    let suffix = Hexadecimal.encode(SecureRandom.bytes(8))
    let isNew = try StoreCopy.make(
      of: file, as: name, temporaryName: ".\(name).\(suffix)", in: directory
    ) { copy throws(Problem) in
      try progress(1, 2)
      try SQLiteConnection(path: copy, access: .immutable).requireSound()
      try progress(2, 2)
    }
    let copy = directory.path(of: name)
    guard isNew else {
      throw .store(
        .refused, "The path \(copy) exists already.", advice: .nameAnotherPlace, path: copy)
    }
    return StoreMaintenance.Backup(
      path: copy, countBytes: FileStatus.at(copy)?.countBytes ?? 0)
  }
}
