import Einlass
import EinlassCrypto
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// Where the key comes from, and that nothing but the right one will do.
struct KeyTests {
  @Test func `a new store gets a private key file in another directory, and says so`() throws {
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

  @Test func `a lost key file is said so, never replaced, and lists need none`() throws {
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
    // Who opened the key before goes on.
    #expect(try store.contents(id).count == 1)
  }

  @Test func `a key file that was named is used, remembered, and never fallen back from`() throws {
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
    // Another key than that of the store.
    let foreign = try StoreHome()
    _ = try foreign.store(.file(other)).add(.example(), .usual)
    #expect(
      problem { _ = try home.store(.file(other)).contents(id) }?.detail == "keyUnavailable")
    #expect(try home.store(.file(path)).contents(id).count == 1)
  }

  @Test func `the key file may not lie beside the store`() throws {
    let home = try StoreHome()
    let problem = problem {
      _ = try home.store(.file(home.directory + "/key")).add(.example(), .usual)
    }
    #expect(problem?.detail == "refused")
    #expect(!FileManager.default.fileExists(atPath: home.database))
    #expect(!FileManager.default.fileExists(atPath: home.directory + "/key"))
  }

  /// What a key file may hold, and whether it does.
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
  func `a key is 32 bytes in one of three forms, on a descriptor`(_ row: Int) throws {
    let (_, bytes, isKey) = Self.texts[row]
    let home = try StoreHome()
    let store = home.store(.descriptor(try descriptor(bytes)))
    let added = problem { _ = try store.add(.example(), .usual) }
    #expect(added?.detail == (isKey ? nil : "keyUnavailable"))
    #expect(FileManager.default.fileExists(atPath: home.database) == isKey)
    guard isKey else { return }
    // It was read once and is remembered.
    let id = try store.snapshot(.none).accounts[0].id
    #expect(try store.contents(id).count == 1)
    #expect(try store.protection(.none) == "fd")
    let next = home.store(.descriptor(try descriptor(bytes)))
    #expect(try next.contents(id).count == 1)
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
  }

  @Test func `a store opened by a descriptor opens by nothing else`() throws {
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

  @Test func `while the key has not come, nothing is locked, made or waited for in vain`()
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
    // What needs no key does not wait for it.
    ends = try pipe()
    defer { close(ends[1]) }
    let next = home.store(.descriptor(ends[0]))
    #expect(try next.setGrant(.example, .none) == 3)
    #expect(try next.snapshot(.none).accounts.count == 2)
  }

  @Test
  func `a descriptor that brought no key is not read again: its number may be another file's`()
    throws
  {
    let home = try StoreHome()
    // A number that no test beside this one is given when it opens something.
    let number = try moved(descriptor([1, 2, 3]), to: 500)
    let store = home.store(.descriptor(number))
    #expect(problem { _ = try store.add(.example(), .usual) }?.detail == "keyUnavailable")
    #expect(try moved(descriptor([UInt8](repeating: 7, count: 32)), to: 500) == number)
    defer { close(number) }
    #expect(problem { _ = try store.add(.example(), .usual) }?.detail == "keyUnavailable")
    #expect(!FileManager.default.fileExists(atPath: home.database))
  }

  @Test func `a descriptor does not open a store with a key file`() throws {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    let store = home.store(.descriptor(try descriptor(SecureRandom.bytes(32))))
    #expect(problem { _ = try store.contents(id) }?.detail == "keyUnavailable")
  }

  @Test(arguments: [0o640, 0o604, 0o644])
  func `a key file that others can read is refused`(_ mode: Int) throws {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    let name = try FileManager.default.contentsOfDirectory(atPath: home.keyDirectory)[0]
    chmod(home.keyDirectory + "/" + name, mode_t(mode))
    let problem = problem { _ = try home.store().contents(id) }
    #expect(problem?.detail == "keyUnavailable")
    #expect(problem?.message.contains("chmod go-rwx") == true)
    chmod(home.keyDirectory + "/" + name, 0o600)  // the negative control
    #expect(try home.store().contents(id).count == 1)
  }
}

extension AccessGrant {
  fileprivate static let example = AccessGrant(
    application: "app", provider: "example", state: .granted, changedAt: 1_763_700_000)
}

/// A descriptor that gives these bytes and then ends; whoever reads it closes it.
private func descriptor(_ bytes: [UInt8]) throws -> Int32 {
  let ends = try pipe()
  #expect(write(ends[1], bytes, bytes.count) == bytes.count)
  close(ends[1])
  return ends[0]
}

/// The same under the first free number from this one on.
private func moved(_ descriptor: Int32, to first: Int32) throws -> Int32 {
  let number = fcntl(descriptor, F_DUPFD_CLOEXEC, first)
  close(descriptor)
  try #require(number >= first)
  return number
}

/// Where to read and where to write; a child that another test starts gets neither.
private func pipe() throws -> [Int32] {
  var ends: [Int32] = [0, 0]
  let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
  try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
  return ends
}
