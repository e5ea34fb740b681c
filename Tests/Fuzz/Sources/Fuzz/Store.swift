import Einlass
import EinlassCrypto
import EinlassStorage
import Foundation
import TestSupport

/// Checks that a changed store file is read as before, as another sound store, or refused with a
/// problem.
///
/// Input: a first byte for the kind. 2: the rest is the file. 1: two bytes with the length to cut,
/// then the changes. Else the changes. A change is three bytes of position and one byte of value.
func fuzzStore(_ input: [UInt8]) {
  var portions = Portions(input)
  let kind = portions.byte()
  var bytes = template.bytes
  if kind == 2 {
    bytes = Array(portions.rest)
  } else {
    if kind == 1 {
      bytes.removeLast((Int(portions.byte()) << 8 | Int(portions.byte())) % bytes.count)
    }
    while portions.rest.count >= 4, !bytes.isEmpty {
      let place = portions.bytes(3).reduce(0) { $0 << 8 | Int($1) }
      bytes[place % bytes.count] = portions.byte()
    }
  }
  template.write(bytes)
  let store = template.open()
  do throws(Problem) {
    let snapshot = try store.snapshot(.usual)
    for account in snapshot.accounts.prefix(50) {
      // A damaged account does not prevent reading the others.
      do throws(Problem) { _ = try store.credentials(account.id) } catch { template.check(error) }
    }
    _ = try store.protection(.usual)
  } catch { template.check(error) }
}

private let template = Template()

/// A sound store in its own folder, and the folder for the changed copies.
private struct Template {
  let folder: String
  let bytes: [UInt8]

  init() {
    let parent = ProcessInfo.processInfo.environment["EINLASS_FUZZ_FOLDER"] ?? "/dev/shm"
    folder = "\(parent)/store-\(getpid())"
    try? FileManager.default.removeItem(atPath: folder)
    for name in ["", "/store", "/key"] {
      try? FileManager.default.createDirectory(
        atPath: folder + name, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    }
    var store: AccountStore? = SQLiteAccountStore.open(
      path: "\(folder)/store/accounts.db", keyFile: "\(folder)/key/store.key")
    do throws(Problem) { try Template.fill(store) } catch {
      preconditionFailure("no store to start from")
    }
    store = nil
    bytes =
      FileManager.default.contents(atPath: "\(folder)/store/accounts.db").map(Array.init) ?? []
    precondition(bytes.count > 4096, "no store to start from")
  }

  private static func fill(_ store: AccountStore?) throws(Problem) {
    guard let store, try store.snapshot(.usual).accounts.isEmpty else { return }
    for name in ["ada", "grace"] {
      let account = Account(
        id: Account.ID(rawValue: "a_\(name)"), provider: "twitter", username: name,
        isSignedIn: true, addedAt: 1)
      let credential = StoredCredential(
        role: .system, registration: ClientRegistration(clientID: "SYS"),
        credential: .oauth1(
          OAuth1Credential(token: Secret("token"), tokenSecret: Secret("secret"))),
        binding: ProviderBinding(
          origins: ["https://api.twitter.com"], clientID: "SYS", flowKind: .reverseAuth))
      _ = try store.add(.init(account: account, credentials: [credential]), .usual)
    }
    _ = try store.setGrant(
      AccessGrant(
        application: "editor", provider: "twitter", state: .granted, permissions: [], changedAt: 1),
      .usual)
  }

  func write(_ bytes: [UInt8]) {
    for suffix in ["-wal", "-shm", "-journal"] {
      unlink("\(folder)/store/accounts.db\(suffix)")
    }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/store")) ?? []
    where name != "accounts.db" { unlink("\(folder)/store/\(name)") }
    // Rewritten in place, because the file must keep its mode.
    guard let file = fopen("\(folder)/store/accounts.db", "w") else { return }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  func open() -> AccountStore {
    SQLiteAccountStore.open(
      path: "\(folder)/store/accounts.db", keyFile: "\(folder)/key/store.key")
  }

  func check(_ problem: Problem) {
    Fuzz.check(!problem.message.isEmpty, "a problem has a message")
    Fuzz.check(problem.reason != .internal, "a damaged store causes no internal error: \(problem)")
  }
}
