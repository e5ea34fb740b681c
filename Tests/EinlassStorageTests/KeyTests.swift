import Einlass
import EinlassCrypto
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

struct KeyTests {
  @Test func `A new store gets a private key file in another directory and reports it`() throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    let files = try FileManager.default.contentsOfDirectory(atPath: home.keyDirectory)
    #expect(files.count == 1)
    let path = home.keyDirectory + "/" + files[0]
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(Base64.decode(String(text.dropLast()))?.count == 32 && text.last == "\n")
    #expect(try home.store().protection(.none) == "keyfile")
  }

  @Test func `A lost key file is reported and never replaced, and lists need no key`() throws {
    let home = try StoreHome()
    let store = home.store()
    let id = try store.add(.example(), .usual).account.id
    try FileManager.default.removeItem(atPath: home.keyDirectory)
    let next = home.store()
    #expect(try next.snapshot(.none).accounts.map(\.id) == [id])
    #expect(try next.protection(.none) == "keyfile")
    _ = try next.update(id, .usual) { $0.displayName = "x" }
    for use: () throws -> Void in [
      { _ = try next.contents(id) }, { _ = try next.add(.example("bob"), .usual) },
      { _ = try next.saveCredential(id, .oauth2Example("a")) },
    ] {
      let problem = problem(use)
      #expect(problem?.detail == "keyUnavailable")
      #expect(problem?.message.contains(home.keyDirectory) == true)
    }
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
    #expect(try next.snapshot(.none).accounts.count == 1)
    // A process that has already opened the key goes on.
    #expect(try store.contents(id).count == 1)
  }

  @Test func `A named key file is used and remembered, and no other file takes its place`() throws {
    let home = try StoreHome()
    let path = home.path + "/mine/key"
    let id = try home.store(.file(path)).add(.example(), .usual).account.id
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
    #expect(try home.store(.file(path)).contents(id).count == 1)
    #expect(try home.store().contents(id).count == 1)
    let other = home.path + "/other/key"
    #expect(
      problem { _ = try home.store(.file(other)).contents(id) }?.detail == "keyUnavailable")
    #expect(!FileManager.default.fileExists(atPath: other))
    // The file has the key of another store.
    let foreign = try StoreHome()
    _ = try foreign.store(.file(other)).add(.example(), .usual)
    #expect(
      problem { _ = try home.store(.file(other)).contents(id) }?.detail == "keyUnavailable")
    #expect(try home.store(.file(path)).contents(id).count == 1)
  }

  @Test func `The key file cannot be in the store's folder`() throws {
    let home = try StoreHome()
    let problem = problem {
      _ = try home.store(.file(home.directory + "/key")).add(.example(), .usual)
    }
    #expect(problem?.detail == "refused")
    #expect(!FileManager.default.fileExists(atPath: home.database))
    #expect(!FileManager.default.fileExists(atPath: home.directory + "/key"))
  }

  /// The content of a key file, and whether it is a valid key.
  static let texts: [(String, [UInt8], Bool)] = [
    ("raw", [UInt8](repeating: 0xFF, count: 32), true),
    ("base64 and a line feed", Array("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n".utf8), true),
    ("base64url", Array("_____________________________________________w\r\n".utf8), false),
    ("base64url", Array("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8".utf8), true),
    ("hexadecimal", Array(String(repeating: "aB", count: 32).utf8), true),
    ("hexadecimal, too short", Array(String(repeating: "aB", count: 31).utf8), false),
    ("31 bytes", [UInt8](repeating: 0xFF, count: 31), false),
    ("33 bytes", [UInt8](repeating: 0xFF, count: 33), false),
    ("nothing", [], false),
    ("a passphrase", Array("correct horse battery staple".utf8), false),
    ("too much", [UInt8](repeating: UInt8(ascii: "a"), count: 5000), false),
  ]

  @Test(arguments: texts.indices)
  func `A key on a descriptor is 32 bytes in one of three forms`(_ row: Int) throws {
    let (_, bytes, isKey) = Self.texts[row]
    let home = try StoreHome()
    let store = home.store(.descriptor(try descriptor(bytes)))
    let added = problem { _ = try store.add(.example(), .usual) }
    #expect(added?.detail == (isKey ? nil : "keyUnavailable"))
    #expect(FileManager.default.fileExists(atPath: home.database) == isKey)
    guard isKey else { return }
    // The key was read once and stays in memory.
    let id = try store.snapshot(.none).accounts[0].id
    #expect(try store.contents(id).count == 1)
    #expect(try store.protection(.none) == "fd")
    let next = home.store(.descriptor(try descriptor(bytes)))
    #expect(try next.contents(id).count == 1)
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
  }

  @Test func `A store with a key from a descriptor does not open in another way`() throws {
    let home = try StoreHome()
    let key = SecureRandom.bytes(32)
    let id = try home.store(.descriptor(try descriptor(key))).add(.example(), .usual).account.id
    let wrong: [KeySource.Choice] = [
      .usual, .file(home.path + "/k/key"), .descriptor(try descriptor(SecureRandom.bytes(32))),
      .descriptor(999), .descriptor(try descriptor([])),
    ]
    for choice in wrong {
      let store = home.store(choice)
      #expect(problem { _ = try store.contents(id) }?.detail == "keyUnavailable")
      #expect(try store.protection(.none) == "fd")
      #expect(try store.snapshot(.none).accounts.count == 1)
    }
    #expect(try home.store(.descriptor(try descriptor(key))).contents(id).count == 1)
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
  }

  @Test func `Before the key arrives, changes that need it fail or wait, and no folder is made`()
    async throws
  {
    let home = try StoreHome()
    var ends = try pipe()
    let store = home.store(.descriptor(ends[0]))
    #expect(problem { _ = try store.add(.example(), .none) }?.detail == "locked")
    #expect(problem { _ = try store.setGrant(.example, .none) }?.detail == "locked")
    #expect(!FileManager.default.fileExists(atPath: home.directory))
    let adding = Thread.result { try store.add(.example(), .usual) }
    for _ in 0..<100 { #expect(try store.snapshot(.none).accounts.isEmpty) }
    #expect(write(ends[1], [UInt8](repeating: 7, count: 32), 32) == 32)
    close(ends[1])
    #expect(try await adding.value.created)
    #expect(try store.add(.example("bob"), .none).created)
    // A change without secrets does not wait for the key.
    ends = try pipe()
    defer { close(ends[1]) }
    let next = home.store(.descriptor(ends[0]))
    #expect(try next.setGrant(.example, .none) == 3)
    #expect(try next.snapshot(.none).accounts.count == 2)
  }

  @Test
  func `A descriptor without a key is not read again, because its number may be reused`()
    throws
  {
    let home = try StoreHome()
    // 500 and above, because other tests in the process get lower numbers for the files they open.
    let number = try moved(descriptor([1, 2, 3]), to: 500)
    let store = home.store(.descriptor(number))
    #expect(problem { _ = try store.add(.example(), .usual) }?.detail == "keyUnavailable")
    #expect(try moved(descriptor([UInt8](repeating: 7, count: 32)), to: 500) == number)
    defer { close(number) }
    #expect(problem { _ = try store.add(.example(), .usual) }?.detail == "keyUnavailable")
    #expect(!FileManager.default.fileExists(atPath: home.database))
  }

  @Test func `A key from a descriptor does not open a store with a key file`() throws {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    let store = home.store(.descriptor(try descriptor(SecureRandom.bytes(32))))
    #expect(problem { _ = try store.contents(id) }?.detail == "keyUnavailable")
  }

  @Test(arguments: [0o640, 0o604, 0o644])
  func `A key file that others can read is refused`(_ mode: Int) throws {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    let name = try FileManager.default.contentsOfDirectory(atPath: home.keyDirectory)[0]
    chmod(home.keyDirectory + "/" + name, mode_t(mode))
    let problem = problem { _ = try home.store().contents(id) }
    #expect(problem?.detail == "keyUnavailable")
    #expect(problem?.command?.hasPrefix("chmod go-rwx ") == true)
    chmod(home.keyDirectory + "/" + name, 0o600)  // negative control
    #expect(try home.store().contents(id).count == 1)
  }
}

extension AccessGrant {
  fileprivate static let example = AccessGrant(
    application: "app", provider: "example", state: .granted, changedAt: 1_763_700_000)
}

/// Returns a descriptor with these bytes. The reader closes it.
private func descriptor(_ bytes: [UInt8]) throws -> Int32 {
  let ends = try pipe()
  #expect(write(ends[1], bytes, bytes.count) == bytes.count)
  close(ends[1])
  return ends[0]
}

/// Moves a descriptor to the first free number from `first` on.
private func moved(_ descriptor: Int32, to first: Int32) throws -> Int32 {
  let number = fcntl(descriptor, F_DUPFD_CLOEXEC, first)
  close(descriptor)
  try #require(number >= first)
  return number
}

/// Returns the reading and the writing end. They are closed on exec, so that a child process of
/// another test does not hold them open.
private func pipe() throws -> [Int32] {
  var ends: [Int32] = [0, 0]
  let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
  try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
  return ends
}
