import EinlassCrypto
import EinlassJSON
import EinlassStorage
import TestSupport
import Testing

@testable import Einlass

/// The directory of users, in memory and in a file: the behaviour of Firebase's emulator row by row,
/// and the rules that go beyond it.
@Suite struct UserDirectoryTests {
  /// A directory in a store of its own, and the people in it.
  struct World {
    var users: Users
    let script: Script
    private let test: AccountStoreTests.Case

    init(_ kind: AccountStoreTests.Kind) throws { try self.init(AccountStoreTests.Case(kind)) }

    init(_ test: AccountStoreTests.Case) throws {
      self.test = test
      script = Script()
      users = Users(
        UserDirectory(name: "kiosk", application: "kiosk"),
        in: Einlass(
          catalog: ProviderCatalog.builtIn, store: test.store, effects: script.effects),
        stretching: cheap)
    }

    var engine: Einlass {
      get throws {
        Einlass(
          catalog: ProviderCatalog.builtIn, store: test.store, effects: script.effects)
      }
    }

    /// All users of the store, without their positions and the accounts of their identities.
    var all: [User] {
      get throws {
        try test.next.users.read { rows throws(Problem) in
          try rows.users(in: nil, after: .min, limit: 100)
        }?.map { user in
          var user = user
          user.position = 0
          // A file vouches for no address.
          user.isEmailVerified = false
          for index in user.identities.indices { user.identities[index].account = nil }
          return user
        } ?? []
      }
    }

    /// Returns the users as an engine with this catalogue has them.
    func users(in catalog: ProviderCatalog) -> Users {
      Users(
        users.directory,
        in: Einlass(catalog: catalog, store: test.store, effects: script.effects), stretching: cheap
      )
    }

    /// Continues as this application.
    mutating func by(
      _ application: String, shared: Bool = false, onePerEmail: Bool = true
    ) throws {
      users = Users(
        UserDirectory(
          name: shared ? "" : application, application: application,
          hasOneUserPerEmail: onePerEmail),
        in: Einlass(
          catalog: ProviderCatalog.builtIn, store: test.next, effects: script.effects),
        stretching: cheap)
    }

    /// Returns a person's sign-in at a provider.
    ///
    /// - Parameter digest: of an added provider.
    func person(
      _ provider: String, _ subject: String, _ email: String?, verified: Bool = false,
      name: String? = nil, digest: String = ""
    ) -> UserProof {
      var person = ProvenIdentity(
        place: User.Place(provider, subject), email: email, isEmailVerified: verified,
        displayName: name)
      person.providerDigest = digest
      person.provenAt = script.effects.now()
      return .signedIn(person, profile: nil)
    }

    /// Stores an account of a provider of the catalogue, or of another one at this origin, to which the
    /// person has signed in.
    ///
    /// - Parameter reporter: see `Account.reportedBy`.
    func account(
      _ provider: String, _ subject: String, at origin: String? = nil, reporter: Int64 = 1
    ) throws -> UserProof {
      let known = try? ProviderCatalog.builtIn.provider(provider)
      var new = AccountStore.NewAccount.example(subject, provider: provider, subject: subject)
      new.account.reportedBy = reporter
      new.credential.binding = ProviderBinding(
        origins: origin.map { [$0] } ?? known?.origins ?? [], clientID: "APP",
        flowKind: known?.flowKinds.first ?? .authorizationCode)
      let added = try test.store.add(new, .usual)
      _ = try test.store.setGrant(
        AccessGrant(application: "kiosk", provider: provider, state: .granted, changedAt: 0), .usual
      )
      return .account(added.account.id)
    }

    func google(_ subject: String, _ email: String? = "ada@example.org", name: String? = nil)
      -> UserProof
    { person("google", subject, email, verified: true, name: name) }

    func facebook(_ subject: String, _ email: String? = "ada@example.org") -> UserProof {
      person("facebook", subject, email)
    }

    func create(_ email: String) throws -> User {
      try users.create(email: email, password: password, .init()).user
    }
  }

  /// A behaviour of the emulator's tests of identity providers.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The difference of this directory, on purpose.
    var deviation: String?
    var check: @Sendable (inout World) async throws -> Void

    init(
      _ emulator: String, deviation: String? = nil,
      _ check: @escaping @Sendable (inout World) async throws -> Void
    ) {
      testDescription = emulator
      self.deviation = deviation
      self.check = check
    }
  }

  @Test(arguments: signInRows + linkRows, AccountStoreTests.Kind.allCases)
  func `Each behaviour of the emulator holds, or its deviation`(
    _ row: Row, _ kind: AccountStoreTests.Kind
  ) async throws {
    var world = try World(kind)
    try await row.check(&world)
  }

  static let signInRows: [Row] = [
    Row("creates a user from an identity, and copies its attributes") { world in
      let made = try await world.users.signIn(world.google("1", name: "Ada"))
      #expect(made.isNew && made.user.displayName == "Ada" && made.user.isEmailVerified)
      #expect(made.user.email == "ada@example.org" && made.user.identities.count == 1)
      #expect(try world.users.current(.usual) == made.user)
    },
    Row("accepts duplicates if the setting allows them, without the address at the user") { world in
      try world.by("kiosk", onePerEmail: false)
      let one = try await world.users.signIn(world.google("1")).user
      let two = try await world.users.signIn(world.facebook("2")).user
      #expect(one.id != two.id && one.email == nil && two.email == nil)
      #expect(one.identities[0].email == "ada@example.org")
      #expect(try world.users.providers(forEmail: "ada@example.org", .usual) == [])
    },
    Row("signs in the same user for the same identity") { world in
      let made = try await world.users.signIn(world.facebook("1")).user
      let again = try await world.users.signIn(world.facebook("1", "other@example.org"))
      #expect(again.user.id == made.id && !again.isNew)
    },
    Row("adds a provider to the user with the same verified address") { world in
      let made = try await world.users.signIn(world.google("1")).user
      let merged = try await world.users.signIn(
        world.person("dropbox", "2", "ADA@example.org", verified: true, name: "Countess"))
      #expect(merged.user.id == made.id && !merged.isNew)
      #expect(merged.user.identities.map(\.place.provider) == ["google", "dropbox"])
      #expect(merged.user.displayName == "Countess")
    },
    Row("replaces an identity of the same provider for a verified address") { world in
      let made = try await world.users.signIn(world.google("1")).user
      let merged = try await world.users.signIn(world.google("2")).user
      #expect(merged.id == made.id && merged.identities.map(\.place.subject) == ["2"])
    },
    Row(
      "drops the password of a user whose address is not verified, and overwrites the profile",
      deviation: "A password user is never overwritten, because nobody verifies addresses here."
    ) { world in
      let made = try world.create("ada@example.org")
      let collision = await collision { try await world.users.signIn(world.google("1")) }
      #expect(collision?.email == "ada@example.org" && collision?.providers == ["password"])
      let signedIn = try await world.users.signIn(email: "ada@example.org", password: password)
      #expect(signedIn.user.id == made.id && signedIn.user.identities.count == 1)
    },
    Row("keeps the password of a user whose address is verified") { world in
      let made = try await world.users.signIn(world.google("1")).user
      _ = try world.users.link(email: nil, password: password, to: nil)
      let merged = try await world.users.signIn(
        world.person("dropbox", "2", "ada@example.org", verified: true)
      ).user
      #expect(merged.id == made.id)
      #expect(
        try await world.users.signIn(email: "ada@example.org", password: password).user.id
          == made.id)
    },
    Row("asks for a confirmation if neither address is verified, and stores nothing") { world in
      let made = try await world.users.signIn(world.facebook("1")).user
      try world.users.signOut(.usual)
      let collision = await collision {
        try await world.users.signIn(world.person("twitter", "2", "Ada@Example.org"))
      }
      #expect(collision?.providers == ["facebook"] && collision?.email == "Ada@Example.org")
      #expect(try world.users.current(.usual) == nil)
      #expect(try world.users.providers(forEmail: "ada@example.org", .usual) == ["facebook"])
      _ = made
    },
    Row(
      "merges into a user whose address is not verified, and drops the other identities",
      deviation: "Another person may have made that user, so it is a collision too."
    ) { world in
      _ = try await world.users.signIn(world.facebook("1"))
      let collision = await collision { try await world.users.signIn(world.google("2")) }
      #expect(collision?.providers == ["facebook"])
    },
    Row(
      "accepts signed and unsigned tokens and raw claims that have a subject",
      deviation: "Only a checked signature or the provider's word proves a person."
    ) { world in
      let key = PrivateKey.generate(.rsa)
      guard case .rsa(let modulus, let exponent) = key.publicParts else {
        Issue.record("no RSA key")
        return
      }
      func text(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }
      let keys: JSONValue = ["kty": "RSA", "n": text(modulus), "e": text(exponent)]
      func reason(_ token: String) async -> Problem.Reason? {
        world.script.reply(.bytes(JSONValue.object(["keys": [keys]]).bytes()))
        let proof = UserProof.credential(
          VerifyRequest(
            application: "kiosk", registration: ClientRegistration(clientID: "APP"),
            provider: "google", subject: .idToken(Secret(token))))
        return await EinlassStorageTests.reason { try await world.users.signIn(proof) }
      }
      var claims: JSONObject = [
        "iss": "https://accounts.google.com", "sub": "1", "aud": "APP",
        "iat": JSONValue(Script.now), "exp": JSONValue(Script.now + 300),
      ]
      let signer = try #require(TokenSigner(key))
      let signed = try #require(signer.token(claims: claims))
      let header = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))
      let raw = JSONValue.object(claims).bytes()
      var refused = ["\(header).\(Base64URL.encode(raw)).", String(decoding: raw, as: UTF8.self)]
      for subject in [nil, ["7"], ""] as [JSONValue?] {
        claims["sub"] = subject
        refused.append(try #require(signer.token(claims: claims)))
      }
      for token in refused { #expect(await reason(token) == .invalidCredential, "\(token)") }
      let all = try world.all
      #expect(all.isEmpty)
      #expect(await reason(signed) == nil)  // the control
    },
    Row("finds the providers for an address of the user or of an identity") { world in
      _ = try await world.users.signIn(world.google("1"))
      _ = try await world.users.link(world.facebook("2", "countess@example.org"))
      let both = ["google", "facebook"]
      #expect(try world.users.providers(forEmail: "ADA@example.org", .usual) == both)
      #expect(try world.users.providers(forEmail: "countess@example.org", .usual) == both)
      #expect(try world.users.providers(forEmail: "eve@example.org", .usual) == [])
    },
  ]

  static let linkRows: [Row] = [
    Row("links an identity to the current user, and copies its address if there is none") { world in
      let made = try await world.users.signIn(world.facebook("1", nil)).user
      #expect(made.email == nil)
      let linked = try await world.users.link(world.google("2")).user
      #expect(linked.id == made.id && linked.email == "ada@example.org")
      #expect(linked.isEmailVerified && linked.identities.count == 2)
    },
    Row("accepts a link with the user's own address") { world in
      _ = try await world.users.signIn(world.facebook("1"))
      let linked = try await world.users.link(world.google("2", "ADA@example.org")).user
      #expect(linked.email == "ada@example.org" && linked.isEmailVerified)
    },
    Row("refuses to link an identity that the user has") { world in
      _ = try await world.users.signIn(world.google("1"))
      for subject in ["1", "2"] {
        #expect(
          await reason { try await world.users.link(world.google(subject)) }
            == .providerAlreadyLinked)
      }
    },
    Row("refuses to link an identity of another user, with a credential for that user") { world in
      let other = try await world.users.signIn(world.google("1")).user
      _ = try world.create("eve@example.org")
      let collision = await collision { try await world.users.link(world.google("1")) }
      let pending = try #require(collision?.pendingCredential)
      #expect(try await world.users.signIn(.pending(pending)).user.id == other.id)
      #expect(
        await reason { try await world.users.signIn(.pending(pending)) } == .invalidCredential)
    },
    Row("refuses to link an identity with the address of another user") { world in
      _ = try world.create("ada@example.org")
      _ = try world.create("eve@example.org")
      #expect(
        await reason { try await world.users.link(world.google("1")) } == .emailAlreadyInUse)
    },
    Row("links an identity with the address of another user if duplicates are allowed") { world in
      try world.by("kiosk", onePerEmail: false)
      _ = try world.create("ada@example.org")
      let eve = try world.create("eve@example.org")
      #expect(try await world.users.link(world.google("1")).user.id == eve.id)
    },
    Row("refuses to link without a current user") { world in
      #expect(await reason { try await world.users.link(world.google("1")) } == .nullUser)
    },
    Row("refuses a provider that does not exist") { world in
      _ = try world.create("ada@example.org")
      let unknown = try world.account("nowhere", "1")
      #expect(await reason { try await world.users.link(unknown) } == .unknownProvider)
    },
  ]
}

// MARK: - The emulator's list

extension UserDirectoryTests {
  /// The behaviours in the emulator's tests of identity providers, with the row for each of them, or the
  /// reason why it has none.
  static let emulator: [(behaviour: String, row: String?, reason: String?)] = {
    let creates = "creates a user from an identity, and copies its attributes"
    let duplicates =
      "accepts duplicates if the setting allows them, without the address at the user"
    let tokens = "accepts signed and unsigned tokens and raw claims that have a subject"
    let noURI = "A request here has parameters and no address of its own."
    let noDisabling = "There is no disabling: the guide leaves it out on purpose."
    let noFactor = "There is no second factor: the guide leaves it out on purpose."
    return [
      ("create from an unsigned token", tokens, nil),
      ("create from a signed token", tokens, nil),
      ("create from raw claims", tokens, nil),
      ("parameters in the request URI", nil, noURI),
      ("missing request URI", nil, noURI),
      ("missing provider", nil, "The schema of the methods refuses it: ProtocolDocumentTests."),
      ("missing sub, or one that is no text", tokens, nil),
      ("attributes copied at the first sign-in", creates, nil),
      ("duplicates allowed by the setting", duplicates, nil),
      ("no copy of the address with duplicates", duplicates, nil),
      (
        "several providers with one address",
        "finds the providers for an address of the user or of an identity", nil
      ),
      ("same identity", "signs in the same user for the same identity", nil),
      ("disabled user", nil, noDisabling),
      ("disabled user cannot be linked", nil, noDisabling),
      ("provider added", "adds a provider to the user with the same verified address", nil),
      (
        "another identity of the same provider",
        "replaces an identity of the same provider for a verified address", nil
      ),
      (
        "unverified address: password dropped, profile overwritten",
        "drops the password of a user whose address is not verified, and overwrites the profile",
        nil
      ),
      (
        "unverified address: other providers dropped",
        "merges into a user whose address is not verified, and drops the other identities", nil
      ),
      (
        "verified address: password kept", "keeps the password of a user whose address is verified",
        nil
      ),
      (
        "neither address verified",
        "asks for a confirmation if neither address is verified, and stores nothing", nil
      ),
      (
        "link, and copy of the address",
        "links an identity to the current user, and copies its address if there is none", nil
      ),
      ("link without a token", "refuses to link without a current user", nil),
      ("pending credential of a second factor", nil, noFactor),
      ("link for a user with a second factor", nil, noFactor),
      ("linked to the same user", "refuses to link an identity that the user has", nil),
      (
        "linked to another user",
        "refuses to link an identity of another user, with a credential for that user", nil
      ),
      (
        "address of another user",
        "refuses to link an identity with the address of another user", nil
      ),
      ("same address of the same user", "accepts a link with the user's own address", nil),
      (
        "link with duplicates allowed",
        "links an identity with the address of another user if duplicates are allowed", nil
      ),
      ("provider off", "refuses a provider that does not exist", nil),
      ("tenant", nil, "A directory of its own takes the place of a tenant."),
    ]
  }()

  @Test func `Each behaviour of the emulator has a row, or a reason for none`() {
    let rows = (Self.signInRows + Self.linkRows).map(\.testDescription)
    for item in Self.emulator {
      #expect((item.row == nil) != (item.reason == nil), "\(item.behaviour)")
      #expect(item.row.map(rows.contains) ?? true, "\(item.behaviour)")
    }
    #expect(Set(rows) == Set(Self.emulator.compactMap(\.row)))
  }
}

// MARK: - Rules beyond the emulator

extension UserDirectoryTests {
  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A pending credential serves one application, once, for ten minutes`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    var world = try World(kind)
    let user = try world.create("ada@example.org")
    func pending() async throws -> UserProof {
      let collision = await collision { try await world.users.signIn(world.facebook("1")) }
      return .pending(try #require(collision?.pendingCredential))
    }
    let (first, second) = (try await pending(), try await pending())
    try world.by("other")
    _ = try world.create("eve@example.org")
    #expect(await reason { try await world.users.link(first) } == .invalidCredential)
    try world.by("kiosk")
    world.script.advance(seconds: 599)
    #expect(try await world.users.link(first).user.id == user.id)
    world.script.advance(seconds: 1)
    _ = try world.users.unlink("facebook", from: nil, evenTheLast: false, .usual)
    for used in [first, second] {
      #expect(await reason { try await world.users.link(used) } == .invalidCredential)
    }
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Deleting, another password and unlinking the last identity need a recent sign-in`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    _ = try world.create("ada@example.org")
    let changes: [() throws -> Void] = [
      { _ = try world.users.update(.init(), password: Secret("another one"), of: nil) },
      { _ = try world.users.update(.init(email: "b@example.org"), of: nil) },
      { _ = try world.users.unlink("password", from: nil, evenTheLast: true, .usual) },
      { try world.users.delete(nil, .usual) },
    ]
    world.script.advance(seconds: 301)
    for change in changes {
      #expect(await reason { try change() } == .requiresRecentLogin)
    }
    _ = try await world.users.reauthenticate(password: password)
    world.script.advance(seconds: 300)
    try changes[0]()
    try changes[1]()
    #expect(
      await reason {
        try world.users.unlink("password", from: nil, evenTheLast: false, .usual)
      } == .invalidChoice)
    try changes[3]()
    #expect(try world.users.current(.usual) == nil)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A new proof must be of the current user`(_ kind: AccountStoreTests.Kind) async throws {
    let world = try World(kind)
    let user = try await world.users.signIn(world.google("1")).user
    #expect(try await world.users.reauthenticate(world.google("1")).user.id == user.id)
    for other in [world.google("2"), world.facebook("1")] {
      #expect(await reason { try await world.users.reauthenticate(other) } == .userMismatch)
    }
    #expect(
      await reason { try await world.users.reauthenticate(password: password) } == .noSuchProvider)
    try world.users.signOut(.usual)
    #expect(await reason { try await world.users.reauthenticate(world.google("1")) } == .nullUser)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Applications have users of their own, or share those of one directory`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    var world = try World(kind)
    let own = try await world.users.signIn(world.google("1")).user
    try world.by("other")
    #expect(try await world.users.signIn(world.google("1")).user.id != own.id)
    try world.by("kiosk", shared: true)
    let shared = try await world.users.signIn(world.google("1")).user
    #expect(shared.id != own.id)
    try world.by("other", shared: true)
    #expect(try await world.users.signIn(world.google("1")).user == shared)
    // Only the application that made the user changes it, and the person.
    #expect(
      await reason { try world.users.update(.init(displayName: "Eve"), of: nil) }
        == .accessNotGranted)
    #expect(await reason { try world.users.delete(nil, .usual) } == .accessNotGranted)
    #expect(await reason { try await world.users.link(world.facebook("1")) } == .accessNotGranted)
    let renamed = try world.users.update(.init(displayName: "Ada"), of: shared.id)
    #expect(renamed.displayName == "Ada")
    try world.users.delete(shared.id, .usual)
    #expect(try world.users.current(.usual) == nil)
    try world.by("kiosk", shared: true)
    #expect(try world.users.current(.usual) == nil)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Five wrong passwords in a row make every further one wait, and the right one ends it`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    _ = try world.create("ada@example.org")
    func signIn(_ text: String) async throws -> SignedInUser {
      try await world.users.signIn(email: "Ada@example.org", password: Secret(text))
    }
    for _ in 1...5 { #expect(await reason { try await signIn("wrong!") } == .wrongPassword) }
    #expect(await reason { try await signIn("difference") } == .tooManyRequests)
    world.script.advance(seconds: 1)
    _ = try await signIn("difference")
    for _ in 1...5 { #expect(await reason { try await signIn("wrong!") } == .wrongPassword) }
    #expect(await reason { try await signIn("difference") } == .tooManyRequests)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Addresses and passwords are checked at their edges`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    func create(_ email: String, _ password: String = "123456") throws {
      _ = try world.users.create(email: email, password: Secret(password), .init())
    }
    let long = String(repeating: "a", count: 256 - "@example.org".utf8.count) + "@example.org"
    for email in ["a", "a@", "@b", "a@b@c", "a b@c", "a@b\u{7}", "a" + long] {
      #expect(await reason { try create(email) } == .invalidEmail, "\(email)")
    }
    #expect(await reason { try create("") } == .missingEmail)
    #expect(await reason { try create("a@b", "12345") } == .weakPassword)
    try create(long)
    try create("a@b")
    #expect(await reason { try create("A@B") } == .emailAlreadyInUse)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A different provider with the id of an added one signs nobody in as its users`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    let users = world.users
    func ada(_ digest: String) -> UserProof { world.person("corp", "1", nil, digest: digest) }
    let made = try await users.signIn(ada("corp")).user
    for other in ["rogue", ""] {
      #expect(await reason { try await users.signIn(ada(other)) } == .bindingMismatch)
      #expect(await reason { try await users.reauthenticate(ada(other)) } == .bindingMismatch)
    }
    // A pending credential keeps the digest.
    _ = try world.create("eve@example.org")
    let collision = await collision { try await users.link(ada("rogue")) }
    let pending = UserProof.pending(try #require(collision?.pendingCredential))
    #expect(await reason { try await users.signIn(pending) } == .bindingMismatch)
    #expect(try await users.signIn(ada("corp")).user.id == made.id)
  }

  @Test func `Two added providers differ by issuer, address, or place of the id`() throws {
    let one = try added("corp", at: "https://corp.example")
    let digests = try [
      one, try added("corp", at: "https://rogue.example"),
      try added("corp", at: "https://corp.example", from: "dropbox"),
    ].map { try $0.provider("corp").identityDigest }
    #expect(Set(digests).count == 3)
    #expect(
      try added("corp", at: "https://corp.example").provider("corp").identityDigest == digests[0])
    let (mine, theirs) = (Identity(id: "1", email: "ada@example.org"), try one.provider("corp"))
    #expect(one.person(mine, at: theirs).providerDigest == digests[0])
    // A provider that a front end has added is not believed about addresses.
    var verified = mine
    verified.isEmailVerified = true
    #expect(!one.person(verified, at: theirs).isEmailVerified)
    let own = try one.person(verified, at: one.provider("google"))
    #expect(own.isEmailVerified && own.providerDigest == "")
    #expect(try one.reporter(one.provider("google")) == 1)
    #expect(one.reporter(theirs) > 1)
    // A configuration can move a provider of the catalogue.
    let moved = try ProviderCatalog.builtIn.relocated(
      origins: ["https://accounts.google.com": "https://other.example"])
    #expect(try moved.person(verified, at: moved.provider("google")).providerDigest != "")
    #expect(try moved.person(verified, at: moved.provider("dropbox")).providerDigest == "")
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `An account proves its person at the provider of the catalogue that it was signed in to`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    let users = world.users(in: try added("corp", at: "https://corp.example"))
    let corp = try world.account("corp", "1", at: "https://corp.example")
    #expect(await reason { try await users.signIn(corp) } == .invalidCredential)
    let moved = try world.account("google", "1", at: "https://sandbox.example")
    #expect(await reason { try await users.signIn(moved) } == .bindingMismatch)
    let overlaid = try world.account("google", "3", reporter: 2)
    #expect(await reason { try await users.signIn(overlaid) } == .bindingMismatch)
    #expect(try await users.signIn(world.account("google", "2")).isNew)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `An account of the store signs in, and is no recent sign-in`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    let users = world.users
    let account = try world.account("google", "1")
    let user = try await users.signIn(account).user
    let problem = #expect(throws: Problem.self) { try users.delete(nil, .usual) }
    #expect(problem?.reason == .requiresRecentLogin)
    #expect(problem?.hint == .init("users.reauthenticate", ["provider": "google"]))
    _ = try await users.reauthenticate(world.google("1"))
    world.script.advance(seconds: 10)
    #expect(try await users.signIn(account).user.id == user.id)
    try users.delete(nil, .usual)
    // After the sign-out the earlier proof counts no more.
    _ = try await users.signIn(world.google("1"))
    try users.signOut(.usual)
    _ = try await users.signIn(account)
    #expect(await reason { try users.delete(nil, .usual) } == .requiresRecentLogin)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A pending credential is as old as its proof`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    _ = try await world.users.signIn(world.facebook("1"))
    var count = 0
    func pending() async throws -> UserProof {
      count += 1
      _ = try world.create("\(count)@example.org")
      let collision = await collision { try await world.users.link(world.facebook("1")) }
      return .pending(try #require(collision?.pendingCredential))
    }
    let old = try await pending()
    world.script.advance(seconds: 301)
    _ = try await world.users.signIn(old)
    #expect(await reason { try world.users.delete(nil, .usual) } == .requiresRecentLogin)
    let new = try await pending()
    world.script.advance(seconds: 300)
    _ = try await world.users.signIn(new)
    try world.users.delete(nil, .usual)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `Addresses compare as bytes, with the letters of ASCII in lower case`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    let (composed, decomposed) = ("jos\u{e9}@example.org", "jose\u{301}@example.org")
    _ = try await world.users.signIn(world.google("1", decomposed))
    let updated = try world.users.update(.init(email: composed), of: nil)
    #expect(!updated.isEmailVerified)
    let owner = world.person("dropbox", "2", composed, verified: true)
    #expect(await collision { try await world.users.signIn(owner) }?.providers == ["google"])
    _ = try world.create("kate@example.org")
    _ = try world.create("\u{212a}ate@example.org")
    #expect(await reason { try world.create("KATE@example.org") } == .emailAlreadyInUse)
    // The bytes of an identity's address change too.
    _ = try await world.users.signIn(world.facebook("3", decomposed))
    _ = try await world.users.signIn(world.facebook("3", composed))
    #expect(try world.users.providers(forEmail: composed, .usual) == ["google"])
    let email = try #require(try world.users.current(.usual)?.identities.first?.email)
    #expect(Array(email.utf8) == Array(composed.utf8))
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A proof that is not recent changes nothing, and the newest proof counts`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    _ = try world.create("ada@example.org")
    _ = try await world.users.link(world.facebook("1"))
    let old = world.facebook("1")
    world.script.advance(seconds: 301)
    #expect(await reason { try await world.users.reauthenticate(old) } == .requiresRecentLogin)
    _ = try await world.users.reauthenticate(password: password)
    _ = try await world.users.signIn(old)
    // After a step of the clock back the newest proof is of the future, and a new one counts.
    world.script.advance(seconds: -1000)
    #expect(await reason { try world.users.delete(nil, .usual) } == .requiresRecentLogin)
    _ = try await world.users.reauthenticate(password: password)
    // The user's own address is no other address.
    let renamed = try world.users.update(.init(email: "Ada@example.org"), of: nil)
    #expect(renamed.email == "Ada@example.org")
    try world.users.delete(nil, .usual)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A user without a way to sign in takes an address only with a password`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    _ = try await world.users.signIn(world.facebook("1"))
    _ = try world.users.unlink("facebook", from: nil, evenTheLast: true, .usual)
    let address = UserDirectory.Profile(email: "ada@example.org")
    #expect(await reason { try world.users.update(address, of: nil) } == .noSuchProvider)
    #expect(try world.users.providers(forEmail: "ada@example.org", .usual) == [])
    let updated = try world.users.update(address, password: password, of: nil)
    #expect(updated.identities.map(\.place.provider) == ["password"])
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `An address is free after the last identity was unlinked`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let world = try World(kind)
    let made = try await world.users.signIn(world.facebook("1")).user
    let left = try world.users.unlink("facebook", from: nil, evenTheLast: true, .usual)
    #expect(left.identities.isEmpty && left.email == nil)
    let again = try await world.users.signIn(world.facebook("1"))
    #expect(again.isNew && again.user.id != made.id && again.user.email == "ada@example.org")
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `In a shared directory only the application that made a user merges it with another`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    var world = try World(kind)
    try world.by("kiosk", shared: true)
    let made = try await world.users.signIn(world.google("1", name: "Ada")).user
    let second = world.person("dropbox", "2", "ada@example.org", verified: true, name: "Eve")
    try world.by("other", shared: true)
    #expect(await collision { try await world.users.signIn(second) }?.providers == ["google"])
    #expect(try world.all.map(\.displayName) == ["Ada"])
    #expect(try world.all[0].identities.map(\.place.provider) == ["google"])
    try world.by("kiosk", shared: true)
    #expect(try await world.users.signIn(second).user.id == made.id)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `The current user is of the directory that the configuration names`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    var world = try World(kind)
    let made = try await world.users.signIn(world.google("1")).user
    try world.by("kiosk", shared: true)
    #expect(try world.users.current(.usual) == nil)
    #expect(
      await reason { try await world.users.reauthenticate(world.google("1")) } == .nullUser)
    try world.by("kiosk")
    #expect(try world.users.current(.usual) == made)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A file of accounts takes every user and password along, once`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    var world = try World(kind)
    _ = try world.create("ada@example.org")
    _ = try await world.users.link(world.facebook("1", "countess@example.org"))
    try world.by("other", shared: true)
    _ = try await world.users.signIn(world.google("2", "eve@example.org", name: "Eve"))
    let passphrase = Secret("passphrase")
    let (bytes, _, count) = try world.engine.exportedAccounts(sealedWith: passphrase)
    #expect(count == 2)
    let contents = try AccountsFileContents(
      AccountsFile(bytes, path: "/file"), openedWith: passphrase)
    var other = try World(kind)
    #expect(try other.engine.importAccounts(contents, replaces: false).users == 2)
    #expect(try other.engine.importAccounts(contents, replaces: false).users == 0)
    #expect(try other.all == world.all)
    let ada = try await other.users.signIn(email: "ada@example.org", password: password)
    #expect(ada.user.identities.map(\.place.provider) == ["password", "facebook"])
    // A user whose address is taken stays out.
    let third = try World(kind)
    _ = try third.create("ADA@example.org")
    #expect(try third.engine.importAccounts(contents, replaces: false).users == 1)
    try other.by("other", shared: true)
    #expect(try await !other.users.signIn(other.google("2", "eve@example.org")).isNew)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `A file of accounts takes the longest texts along, and counts users that it cannot read`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let (world, other) = (try World(kind), try World(kind))
    var person = ProvenIdentity(
      place: User.Place("google", String(repeating: "1", count: 256)),
      email: String(repeating: "e", count: 1024),
      displayName: String(repeating: "n", count: 1024),
      photo: "https://a.example/" + String(repeating: "p", count: 8174))
    person.provenAt = world.script.effects.now()
    _ = try await world.users.signIn(.signedIn(person, profile: nil))
    let passphrase = Secret("passphrase")
    let (bytes, _, _) = try world.engine.exportedAccounts(sealedWith: passphrase)
    let contents = try AccountsFileContents(
      AccountsFile(bytes, path: "/file"), openedWith: passphrase)
    let result = try other.engine.importAccounts(contents, replaces: false)
    #expect((result.users, result.refusedUsers) == (1, 0))
    #expect(try other.all == world.all)
    // An earlier version stored empty texts. A text with a control character is of no version.
    let frame =
      #"{"accounts":[],"users":[{"id":"u_1","directory":"","application":"kiosk","createdAt":1,"displayName":"","photo":"","identities":[{"provider":"forgejo","subject":"1","email":""}]},{"id":"u_2","directory":"","application":"kiosk","createdAt":1,"displayName":"\u0007","identities":[]}]}"#
    let earlier = try #require(AccountsFileContents(Array(frame.utf8)))
    let second = try other.engine.importAccounts(earlier, replaces: false)
    #expect((second.users, second.usersOfFile, second.refusedUsers) == (1, 1, 1))
    let user = try #require(try other.all.last)
    #expect(user.displayName == nil && user.photo == nil && user.identities[0].email == nil)
  }

  @Test(arguments: AccountStoreTests.Kind.allCases)
  func `An imported account proves nobody, and leaves the mark of the one that it replaces`(
    _ kind: AccountStoreTests.Kind
  ) async throws {
    let (world, other) = (try World(kind), try World(kind))
    #expect(try await world.users.signIn(world.account("google", "1")).isNew)
    let passphrase = Secret("passphrase")
    let (bytes, _, _) = try world.engine.exportedAccounts(sealedWith: passphrase)
    let contents = try AccountsFileContents(
      AccountsFile(bytes, path: "/file"), openedWith: passphrase)
    let result = try other.engine.importAccounts(contents, replaces: false)
    guard case .added(let id) = result.entries[0].outcome else {
      Issue.record("not added")
      return
    }
    _ = try other.engine.store.setGrant(
      AccessGrant(application: "kiosk", provider: "google", state: .granted, changedAt: 0), .usual)
    #expect(await reason { try await other.users.signIn(.account(id)) } == .invalidCredential)
    // As after a sign-in.
    _ = try other.engine.store.update(id, .usual) {
      ($0.reportedBy, $0.email, $0.isEmailVerified) = (1, "eve@example.org", true)
    }
    #expect(try await !other.users.signIn(.account(id)).isNew)
    _ = try other.engine.importAccounts(contents, replaces: true)
    let replaced = try other.engine.store.account(id)
    #expect(replaced.reportedBy == 1 && !replaced.isEmailVerified)
  }

  @Test func `A rotation of the key keeps passwords and pending credentials`() async throws {
    let test = try AccountStoreTests.Case(.file)
    let world = try World(test)
    _ = try world.create("ada@example.org")
    let collision = await collision { try await world.users.signIn(world.facebook("1")) }
    let before = try #require(collision)
    _ = try test.store.maintenance.rotateKey { _, _ in }
    _ = try await world.users.signIn(email: "ada@example.org", password: password)
    _ = try await world.users.link(.pending(try #require(before.pendingCredential)))
  }
}

private let password = Secret("difference")
private let cheap = ScryptParameters(cost: 16, blockSize: 1, parallelism: 1)

/// Returns the catalogue with a provider that a front end has added, with all requests at one origin.
private func added(
  _ id: String, at origin: String, from model: String = "google"
) throws -> ProviderCatalog {
  let origins = try ProviderCatalog.builtIn.provider(model).origins
    .map { "\"\($0)\": \"\(origin)\"" }.joined(separator: ", ")
  let json =
    #"{"providers": [{"id": "\#(id)", "name": "Added", "like": "\#(model)", "origins": {\#(origins)}}]}"#
  let added = try ProviderCatalog.builtIn.adding(json: Array(json.utf8))
  #expect(added.leftOut.isEmpty)
  return added.catalog
}

/// Returns the problem's data about the other user.
private func collision(
  _ body: () async throws -> SignedInUser
) async -> Problem.Collision? {
  do {
    _ = try await body()
    return nil
  } catch { return (error as? Problem)?.collision }
}

private func reason<Result>(_ body: () async throws -> Result) async -> Problem.Reason? {
  do {
    _ = try await body()
    return nil
  } catch { return (error as? Problem)?.reason }
}
