import Einlass
import EinlassCrypto
import EinlassSystem
import Testing

@testable import EinlassServer

struct HeldTokensTests {
  /// A store with one token for each account. It records the accounts whose credential was read.
  private struct World {
    let tokens = Lock([Account.ID: StoredCredential]())
    let read = Lock([Account.ID]())
    let held = HeldTokens()
    let store: AccountStore

    init() {
      let empty = SharedSnapshotTests.store(asked: Lock(0), revision: Lock(1))
      store = empty.with(credentials: { [tokens, read] id, _, _ throws(Problem) in
        read.withLock { $0.append(id) }
        guard let token = tokens.withLock({ $0[id] }) else { throw .unknownAccount(id) }
        return [token]
      })
    }

    func keep(_ token: String, of id: Account.ID, generation: Int64) -> OAuth2Credential {
      let token = OAuth2Credential(accessToken: Secret(token))
      tokens.withLock {
        $0[id] = StoredCredential(
          role: .application, registration: ClientRegistration(clientID: "app"),
          credential: .oauth2(token),
          binding: ProviderBinding(origins: [], clientID: "app", flowKind: .authorizationCode),
          generation: generation)
      }
      return token
    }

    @discardableResult
    func hold(_ token: OAuth2Credential, of id: Account.ID) -> Bool {
      held.hold(
        token, at: .init(account: id, place: AccountStore.Place("app", resource: "")), in: store)
    }

    /// The accounts that the front end is notified of, and the accounts that were read for it.
    func look(
      _ changes: [StoreChange]?, at revision: Int64 = .max
    ) throws -> (told: [Account.ID], read: Set<Account.ID>) {
      read.withLock { $0 = [] }
      let told = Lock([Account.ID]())
      try held.look(in: store, after: changes, at: revision, .none) { _, id in
        told.withLock { $0.append(id) }
      }
      return (told.withLock(\.self), Set(read.withLock(\.self)))
    }
  }

  private static let ids = (0..<100).map { Account.ID(rawValue: "a_\($0)") }

  @Test func `A change reads the held tokens of the changed accounts and no others`() throws {
    let world = World()
    for id in Self.ids { world.hold(world.keep("old", of: id, generation: 1), of: id) }
    _ = world.keep("new", of: Self.ids[7], generation: 2)
    let renamed = try world.look([.account(Self.ids[8], .updated), .account(Self.ids[7], .health)])
    #expect(renamed.told == [] && renamed.read == [])
    for told in [[Self.ids[7]], []] {
      let looked = try world.look([.credential(Self.ids[7])])
      #expect(looked.told == told && looked.read == [Self.ids[7]])
    }
    #expect(try world.look(nil).read == Set(Self.ids))
  }

  @Test func `A token of the store's last revision is not read again`() throws {
    let world = World()
    let id = Self.ids[0]
    #expect(world.hold(world.keep("own", of: id, generation: 5), of: id))
    #expect(try world.look([.credential(id)], at: 5).read == [])
    #expect(try world.look([.credential(id)], at: 6).read == [id])
    // Another database, whose revisions mean nothing here.
    #expect(try world.look(nil, at: 5).read == [id])
  }

  @Test func `The token of a removed account is no longer held`() throws {
    let world = World()
    let id = Self.ids[0]
    world.hold(world.keep("old", of: id, generation: 1), of: id)
    world.tokens.withLock { $0 = [:] }
    #expect(try world.look([.account(id, .removed)]).read == [id])
    #expect(try world.look(nil).read == [])
  }

  @Test func `A token that was replaced while it was handed out is announced at the next check`()
    throws
  {
    let world = World()
    let id = Self.ids[0]
    _ = world.keep("new", of: id, generation: 2)
    #expect(!world.hold(OAuth2Credential(accessToken: Secret("old")), of: id))
    #expect(try world.look([]).told == [id])
    #expect(try world.look([]).told == [])
  }

  @Test func `A token handed out while the store is locked is announced only once it is replaced`()
    throws
  {
    let world = World()
    let id = Self.ids[0]
    let token = OAuth2Credential(accessToken: Secret("same"))
    // The store has no such account yet, so that its reader throws.
    world.hold(token, of: id)
    _ = world.keep("same", of: id, generation: 2)
    #expect(try world.look([]).told == [])
    _ = world.keep("new", of: id, generation: 3)
    #expect(try world.look([.credential(id)]).told == [id])
  }
}
