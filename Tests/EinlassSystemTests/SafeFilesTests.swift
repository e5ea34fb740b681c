import EinlassSystem
import Foundation
import TestSupport
import Testing

/// As an ordinary user in a child process, because root is exempt from permissions.
struct SafeFilesTests {
  @Test(arguments: [0o000, 0o022, 0o077] as [mode_t])
  func `Directories are made 0700 and files 0600 under any umask`(_ mask: mode_t) async {
    await #expect(processExitsWith: .success) { [mask] in
      OrdinaryUser.become()
      umask(mask)
      let home = OrdinaryUser.makeHome()
      defer { _ = try? FileManager.default.removeItem(atPath: home) }
      let folder = try Folder(home + "/a/b/c")
      #expect(try folder.create("file", [1, 2, 3]))
      try folder.createEmpty("empty")
      for path in ["/a", "/a/b", "/a/b/c"] { #expect(mode(home + path) == 0o700) }
      for name in ["/file", "/empty"] { #expect(mode(home + "/a/b/c" + name) == 0o600) }
      #expect(try folder.read("file", limitBytes: 3) == [1, 2, 3])
      #expect(mode(home + "/a/b/c/new") == nil)
    }
  }

  @Test(.enabled(if: geteuid() == 0))
  func `A path in the root folder begins with one slash`() throws {
    let path = try SafeDirectory.open("/", others: .mayRead)?.path(of: "a.db")
    #expect(path == "/a.db")
  }

  @Test func `A file at the limit of RLIMIT_FSIZE is an error with words`() {
    #expect(
      FileError(.system(EFBIG), path: "/a").explanation.contains("limit on the size of files"))
  }

  @Test func `The command that repairs a file's permissions quotes any file name`() {
    let error = FileError(.openToOthers(mode: 0o644, isFile: true), path: "/a/it's")
    #expect(error.command == #"chmod go-rwx '/a/it'\''s'"#)
  }

  @Test(arguments: [0o755, 0o777, 0o710, 0o701, 0o070] as [mode_t])
  func `A directory that others can reach is refused with the fix and left as it is`(
    _ wrong: mode_t
  )
    async
  {
    await #expect(processExitsWith: .success) { [wrong] in
      OrdinaryUser.become()
      let home = OrdinaryUser.makeHome()
      defer { _ = try? FileManager.default.removeItem(atPath: home) }
      mkdir(home + "/d", 0o700)
      _ = try Folder(home + "/d")  // negative control
      chmod(home + "/d", wrong)
      let error = refusal { _ = try Folder(home + "/d") }
      if wrong & 0o400 != 0 {
        #expect(error?.cause == .openToOthers(mode: UInt32(wrong)))
        #expect(error?.command == "chmod go-rwx '\(home)/d'")
        #expect(error?.explanation.contains("0" + String(wrong, radix: 8)) == true)
      } else {
        #expect(error?.cause == .system(EACCES))
      }
      #expect(mode(home + "/d") == wrong)
      chmod(home + "/d", 0o700)  // removal needs access
    }
  }

  @Test func `A directory of another user is refused, and nothing is made in it`() async {
    await #expect(processExitsWith: .success) {
      OrdinaryUser.become()
      #expect(causeOfRefusing("/") == .otherOwner(0))
      #expect(causeOfRefusing("/usr") == .otherOwner(0))
      #expect(causeOfRefusing("/usr/einlass-test", makes: true) == .system(EACCES))
    }
  }

  @Test(.enabled(if: geteuid() == 0, "needs root, to be it in somebody else's home"))
  func `The root user makes nothing in another user's home`() async {
    await #expect(processExitsWith: .success) {
      let home = OrdinaryUser.makeHome()
      defer { _ = try? FileManager.default.removeItem(atPath: home) }
      chown(home, OrdinaryUser.id, OrdinaryUser.id)
      let error = refusal { _ = try Folder(home + "/.local/share/einlass") }
      #expect(error?.cause == .otherOwner(OrdinaryUser.id))
      #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
      chown(home, 0, 0)  // negative control
      _ = try Folder(home + "/.local/share/einlass")
    }
  }

  @Test func `A home that is a symbolic link is followed, the directory of the store is not`()
    throws
  {
    let home = OrdinaryUser.makeHome()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    mkdir(home + "/real", 0o700)
    mkdir(home + "/real/store", 0o700)
    symlink(home + "/real", home + "/link")
    #expect(try existing(home + "/link/store") == home + "/real/store")
    #expect(refusal { _ = try existing(home + "/link") }?.cause == .symbolicLink)
    #expect(refusal { _ = try Folder(home + "/link/") }?.cause == .symbolicLink)
    #expect(try existing(home + "/link/.") == home + "/real")
    #expect(try existing(home + "/none/store") == nil)
  }

  /// File types in the place of a private file.
  enum Planted: CaseIterable {
    case symbolicLink, danglingLink, directory, fifo, hardLink, openToOthers, privateFile

    func plant(at path: String, in home: String) {
      close(open(home + "/other", O_CREAT | O_WRONLY, 0o600))
      switch self {
      case .symbolicLink: symlink(home + "/other", path)
      case .danglingLink: symlink(home + "/none", path)
      case .directory: mkdir(path, 0o700)
      case .fifo: mkfifo(path, 0o600)
      case .hardLink: link(home + "/other", path)
      case .openToOthers:
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        chmod(path, 0o640)
      case .privateFile: close(open(path, O_CREAT | O_WRONLY, 0o600))
      }
    }

    var cause: FileError.Cause? {
      switch self {
      case .symbolicLink, .danglingLink: .symbolicLink
      case .directory, .fifo: .notARegularFile
      case .hardLink: .hardLinked(2)
      case .openToOthers: .openToOthers(mode: 0o640, isFile: true)
      case .privateFile: nil  // negative control
      }
    }
  }

  @Test(arguments: Planted.allCases)
  func `A file that is not a private regular file is refused at once and not followed`(
    _ planted: Planted
  ) throws {
    let home = OrdinaryUser.makeHome()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    planted.plant(at: home + "/file", in: home)
    let folder = try Folder(home)
    #expect(refusal { _ = try folder.inspect("file") }?.cause == planted.cause)
    #expect(refusal { _ = try folder.read("file", limitBytes: 10) }?.cause == planted.cause)
    #expect(refusal { _ = try folder.lock("file") }?.cause == planted.cause)
    #expect(try folder.create("file", [1]) == false)
    #expect(mode(home + "/new") == nil)
    #expect(mode(home + "/none") == nil)
  }

  /// Any date, also past 2262, where a signed 64-bit count of nanoseconds since 1970 ends.
  @Test(arguments: [-9_000_000_000, 0, 9_223_372_036, 9_223_372_037, 13_569_465_600] as [Int])
  func `A file with any date can be used`(_ seconds: Int) throws {
    let home = OrdinaryUser.makeHome()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    let folder = try Folder(home)
    #expect(try folder.create("file", [1]))
    let times = [timespec(tv_sec: seconds, tv_nsec: 5), timespec(tv_sec: seconds, tv_nsec: 6)]
    utimensat(AT_FDCWD, home + "/file", times, 0)
    var status = stat()
    stat(home + "/file", &status)
    let found = try folder.inspect("file")
    #expect(found?.modifiedAtSeconds == Int64(status.st_mtim.tv_sec))
    #expect(found?.modifiedAtNanoseconds == Int64(status.st_mtim.tv_nsec))
    #expect(
      try PersonalFile.read(home + "/file", others: .mayNothing, limitBytes: 1) == [1])
  }

  @Test func `A file is read whole or refused`() throws {
    let home = OrdinaryUser.makeHome()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    let folder = try Folder(home)
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(try folder.create("file", bytes))
    #expect(try folder.read("file", limitBytes: 10_000) == bytes)
    #expect(
      refusal { _ = try folder.read("file", limitBytes: 9_999) }?.cause == .tooLong(9_999))
    #expect(try folder.read("none", limitBytes: 1) == nil)
  }
}

/// A directory in a class, because an `#expect` cannot capture a noncopyable value.
private final class Folder {
  private let directory: SafeDirectory
  init(_ path: String) throws { directory = try SafeDirectory.create(path) }
  func inspect(_ name: String) throws -> FileStatus? { try directory.inspect(name) }
  func createEmpty(_ name: String) throws { try directory.createEmpty(name) }
  func lock(_ name: String) throws { try FileLock(name, in: directory).release() }
  func create(_ name: String, _ bytes: [UInt8]) throws -> Bool {
    try directory.create(name, bytes, temporaryName: "new")
  }
  func read(_ name: String, limitBytes: Int) throws -> [UInt8]? {
    try directory.read(name, limitBytes: limitBytes)
  }
}

private func causeOfRefusing(_ path: String, makes: Bool = false) -> FileError.Cause? {
  refusal { if makes { _ = try Folder(path) } else { _ = try existing(path) } }?.cause
}

/// The resolved path of an existing directory.
private func existing(_ path: String) throws -> String? {
  guard let directory = try SafeDirectory.open(path) else { return nil }
  return directory.path
}

/// The permission bits, or `nil` if the file does not exist.
private func mode(_ path: String) -> mode_t? {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

private func refusal(_ body: () throws -> Void) -> FileError? {
  do {
    try body()
    return nil
  } catch {
    return error as? FileError
  }
}
