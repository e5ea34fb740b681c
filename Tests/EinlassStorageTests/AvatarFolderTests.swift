import Einlass
import EinlassSystem
import Foundation
import Glibc
import Testing

@testable import EinlassStorage

/// The pictures of accounts beside a store.
@Suite struct AvatarFolderTests {
  static let (one, two) = ("https://pictures.example/1", "https://pictures.example/2")

  static func folder(of home: StoreHome) -> String { home.directory + "/store.avatars" }

  static func names(in home: StoreHome) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder(of: home)).filter { $0 != "lock" }
  }

  @Test func `A picture is kept as a private file with the time of its fetch`() throws {
    let home = try StoreHome()
    let files = home.store().avatars
    #expect(try files.kept(Self.one) == nil)
    let kept = try files.keep(Self.one, Avatar(bytes: [1, 2, 3], format: .png), 1_500_000_000)
    #expect(try home.store().avatars.kept(Self.one) == kept)
    #expect(try files.kept(Self.two) == nil)
    #expect(kept.path.hasPrefix(Self.folder(of: home)) && kept.path.hasSuffix(".png"))
    #expect(kept.fetchedAt == 1_500_000_000)
    #expect(try Data(contentsOf: URL(filePath: kept.path)) == Data([1, 2, 3]))
    for (path, mode) in [(kept.path, UInt32(0o600)), (Self.folder(of: home), 0o700)] {
      #expect(FileStatus.at(path)?.mode == mode)
    }
  }

  @Test func `A new picture of the same address takes the place of the former one`() throws {
    let home = try StoreHome()
    let files = home.store().avatars
    let first = try files.keep(Self.one, Avatar(bytes: [1], format: .png), 1)
    let same = try files.keep(Self.one, Avatar(bytes: [2], format: .png), 2)
    #expect(first.path == same.path)
    let other = try files.keep(Self.one, Avatar(bytes: [3], format: .webp), 3)
    #expect(try files.kept(Self.one) == other)
    #expect(try Self.names(in: home).count == 1)
  }

  @Test func `Only the pictures of used addresses stay`() throws {
    let home = try StoreHome()
    let files = home.store().avatars
    // Without pictures the addresses are not asked for.
    files.keepOnly { () throws(Problem) in
      Issue.record("asked")
      return []
    }
    for address in [Self.one, Self.two] {
      _ = try files.keep(address, Avatar(bytes: [1], format: .gif), 1)
    }
    files.keepOnly { () throws(Problem) in throw .store(.locked, "Locked.") }
    #expect(try Self.names(in: home).count == 2)
    files.keepOnly { [Self.two] }
    #expect(try files.kept(Self.one) == nil && files.kept(Self.two) != nil)
    files.keepOnly { [] }
    #expect(try Self.names(in: home).isEmpty)
  }

  @Test func `Two stores in one folder keep their own pictures`() throws {
    let home = try StoreHome()
    let other = SQLiteAccountStore.store(
      location: StoreLocation(
        directory: home.directory, name: "other.db", keyDirectory: home.keyDirectory),
      choice: .usual)
    _ = try home.store().avatars.keep(Self.one, Avatar(bytes: [1], format: .jpeg), 1)
    other.avatars.keepOnly { [] }
    #expect(try home.store().avatars.kept(Self.one) != nil && other.avatars.kept(Self.one) == nil)
  }

  @Test func `A planted link or an open file is refused`() throws {
    let home = try StoreHome()
    let files = home.store().avatars
    let kept = try files.keep(Self.one, Avatar(bytes: [1], format: .png), 1)
    chmod(kept.path, 0o644)
    #expect(throws: Problem.self) { try files.kept(Self.one) }
    unlink(kept.path)
    symlink("/etc/hostname", kept.path)
    let problem = #expect(throws: Problem.self) { try files.kept(Self.one) }
    #expect(problem?.reason == .accountStoreFailure)
    // A new fetch replaces the link, and not its target.
    _ = try files.keep(Self.one, Avatar(bytes: [2], format: .png), 2)
    #expect(try Data(contentsOf: URL(filePath: kept.path)) == Data([2]))
  }

  @Test func `A store in memory keeps no pictures`() {
    let files = MemoryAccountStore.make().avatars
    let problem = #expect(throws: Problem.self) { try files.kept(Self.one) }
    #expect(problem?.reason == .accountStoreFailure && problem?.detail == "refused")
  }
}
