import Einlass
import EinlassStorage
import Foundation
import TestSupport
import Testing

/// A store that cannot be written is still readable if it is complete, and a file that others could
/// have reached is refused. The tests run as an ordinary user in a child process, because root is
/// exempt from permissions.
struct ReadOnlyStoreTests {
  @Test(arguments: ["directory", "file"])
  func `A store that can't be written lists its accounts, and their credentials open`(
    _ readOnly: String
  ) async {
    await #expect(processExitsWith: .success) { [readOnly] in
      OrdinaryUser.become()
      let home = StoreHome(adopting: OrdinaryUser.makeHome())
      defer { home.remove() }
      var store: AccountStore? = home.store()
      let id = try #require(try store?.add(.example(), .usual).account.id)
      _ = try await store?.lease(id)  // makes the lock folder, which stays writable
      store = nil  // closes the store properly
      let changed = readOnly == "directory" ? home.directory : home.database
      let mode: mode_t = readOnly == "directory" ? 0o700 : 0o600
      chmod(changed, mode & ~0o200)
      let before = FilePrint(home.database)
      var reader = home.store()
      #expect(try reader.snapshot(.none).accounts.map(\.id) == [id])
      #expect(try reader.contents(id) == [AccountStore.NewAccount.example().credential])
      #expect(try reader.protection(.none) == "keyfile")
      let problem = problem { _ = try reader.update(id, .usual) { $0.email = nil } }
      #expect(problem?.detail == "readOnly" && problem?.path == home.database)
      #expect(problem?.message.hasSuffix("can't be written.") == true)
      #expect(FilePrint(home.database) == before)
      // No provider is asked for a token that could not be stored.
      #expect(await refusal { _ = try await reader.lease(id) }?.detail == "readOnly")
      #expect(EinlassStorageTests.problem { try reader.requireWritable() }?.path == home.database)
      // Negative control: the same reader can write once the permissions allow it.
      chmod(changed, mode)
      _ = try reader.update(id, .usual) { $0.email = nil }
      #expect(try reader.snapshot(.none).accounts[0].email == nil)
      _ = try await reader.lease(id)
      try reader.requireWritable()
      reader = home.store()  // closes the store properly
      #expect(FilePrint(home.database) != before)
    }
  }

  @Test func `A store that could not be created is refused as one that can't be written`() async {
    await #expect(processExitsWith: .success) {
      OrdinaryUser.become()
      let home = StoreHome(adopting: OrdinaryUser.makeHome())
      defer { home.remove() }
      let above = home.path + "/above"
      let store = SQLiteAccountStore.open(
        path: above + "/a/b/store.db", keyFile: home.keyDirectory + "/key")
      mkdir(above, 0o500)
      #expect(problem { try store.requireWritable() }?.detail == "readOnly")
      chmod(above, 0o700)  // negative control
      try store.requireWritable()
      #expect(access(above + "/a", F_OK) != 0)
      _ = try store.add(.example(), .usual)
    }
  }

  @Test(arguments: [true, false])
  func `A store that can't be written is read with the changes in its journal`(
    _ hasIndex: Bool
  ) async {
    await #expect(processExitsWith: .success) { [hasIndex] in
      OrdinaryUser.become()
      let home = StoreHome(adopting: OrdinaryUser.makeHome())
      defer { home.remove() }
      let store = home.store()  // stays open, so that the journal stays
      let id = try store.add(.example(), .usual).account.id
      if !hasIndex { unlink(home.database + "-shm") }
      let journal = try FileManager.default.attributesOfItem(atPath: home.database + "-wal")
      try #require(journal[.size] as? Int != 0)
      chmod(home.directory, 0o500)
      let reader = home.store()
      #expect(try reader.snapshot(.none).accounts.map(\.id) == [id])
      #expect(try reader.contents(id).count == 1)
      #expect(try reader.maintenance.check { _, _ in }.isSound)
      let files = try FileManager.default.contentsOfDirectory(atPath: home.directory)
      #expect(files.contains("store.db-shm") == hasIndex)
      #expect(problem { _ = try reader.add(.example("b"), .usual) }?.detail == "readOnly")
      // Negative control: without the journal the store is empty.
      chmod(home.directory, 0o700)
      unlink(home.database + "-wal")
      chmod(home.directory, 0o500)
      #expect(try home.store().snapshot(.none).accounts.isEmpty)
      chmod(home.directory, 0o700)
    }
  }

  @Test func `An older store that can't be written is refused, because it can't be migrated`() async
  {
    await #expect(processExitsWith: .success) {
      OrdinaryUser.become()
      let home = StoreHome(adopting: OrdinaryUser.makeHome())
      defer { home.remove() }
      var store: AccountStore? = home.store()
      _ = try store?.add(.example(), .usual)
      store = nil  // closes the store properly
      try SQLiteTool(path: home.database).run(StoreHome.backToSchema2)
      chmod(home.directory, 0o500)
      #expect(problem { _ = try home.store().snapshot(.none) }?.detail == "readOnly")
      chmod(home.directory, 0o700)  // negative control
      #expect(try home.store().snapshot(.usual).accounts.count == 1)
    }
  }

  @Test(arguments: [0o000, 0o022, 0o077] as [mode_t])
  func `Every file and directory is made private under any umask`(_ mask: mode_t) async {
    await #expect(processExitsWith: .success) { [mask] in
      OrdinaryUser.become()
      umask(mask)
      let home = StoreHome(adopting: OrdinaryUser.makeHome())
      defer { home.remove() }
      let store = home.store()
      let id = try store.add(.example(), .usual).account.id
      _ = try store.contents(id)
      for name in FileManager.default.subpaths(atPath: home.path) ?? [] {
        let attributes = try FileManager.default.attributesOfItem(atPath: home.path + "/" + name)
        let isDirectory = attributes[.type] as? FileAttributeType == .typeDirectory
        #expect(attributes[.posixPermissions] as? Int == (isDirectory ? 0o700 : 0o600))
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: home.directory)
      #expect(Set(names) == ["store.db", "store.db-wal", "store.db-shm", "store.lock"])
    }
  }

  /// Folders and files that others could have reached.
  static let places = ["data", "keys", "data/store.db-wal", "data/store.db-shm", "data/store.lock"]

  @Test(arguments: places, [0o755, 0o777] as [mode_t])
  func `A file or folder that others can reach is refused with the fix`(
    _ place: String, _ mode: mode_t
  ) async {
    await #expect(processExitsWith: .success) { [place, mode] in
      OrdinaryUser.become()
      let home = StoreHome(adopting: OrdinaryUser.makeHome())
      defer { home.remove() }
      let first = home.store()
      let id = try first.add(.example(), .usual).account.id
      #expect(try home.store().contents(id).count == 1)  // negative control
      chmod(home.path + "/" + place, mode)
      let problem = problem { _ = try home.store().contents(id) }
      #expect(problem?.detail == (place == "keys" ? "keyUnavailable" : "permissions"))
      #expect(problem?.command == "chmod go-rwx '\(home.path)/\(place)'")
    }
  }

  @Test(.enabled(if: geteuid() == 0, "needs root, to be it on somebody else's store"))
  func `The root user refuses the store of an ordinary user, and the other way round`() async throws
  {
    let home = try StoreHome()
    await refuseSomebodyElses(home.path)
  }

  private func refuseSomebodyElses(_ path: String) async {
    await #expect(processExitsWith: .success) { [path] in
      let home = StoreHome(adopting: path)
      var store: AccountStore? = home.store()
      _ = try store?.add(.example(), .usual)
      store = nil
      chown(home.path, OrdinaryUser.id, OrdinaryUser.id)
      for name in FileManager.default.subpaths(atPath: home.path) ?? [] {
        chown(home.path + "/" + name, OrdinaryUser.id, OrdinaryUser.id)
      }
      let before = FilePrint(home.database)
      #expect(problem { _ = try home.store().snapshot(.none) }?.detail == "permissions")
      let problem = problem { _ = try home.store().add(.example("bob"), .usual) }
      #expect(problem?.detail == "permissions")
      #expect(problem?.message.contains("user \(OrdinaryUser.id)") == true)
      #expect(FilePrint(home.database) == before)
      chown(home.directory, 0, 0)
      OrdinaryUser.become()
      #expect(
        EinlassStorageTests.problem { _ = try home.store().snapshot(.none) }?.detail
          == "permissions")
    }
  }
}

/// Returns the problem of an asynchronous call, or `nil`.
private func refusal(_ body: () async throws -> Void) async -> Problem? {
  do {
    try await body()
    return nil
  } catch { return error as? Problem }
}
