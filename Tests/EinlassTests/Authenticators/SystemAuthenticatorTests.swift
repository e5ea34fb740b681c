import Einlass
import EinlassAuthenticators
import EinlassSystem
import TestSupport
import Testing

/// The authenticators of system accounts: the credentials, every problem, and the order of calls.
@Suite struct SystemAuthenticatorTests {
  static func application(_ script: Script, _ ids: [String] = ["twitter", "facebook"]) throws
    -> Application
  {
    Application(
      Sample.application,
      registrations: Dictionary(uniqueKeysWithValues: ids.map { ($0, Sample.registration) }),
      engine: try Sample.engine(script))
  }

  /// A delegate of both authenticators. Its answers are fixed, and its calls are listed.
  final class Person: TwitterAuthenticatorDelegate, FacebookAuthenticatorDelegate {
    let isWilling: Bool
    let choice: String?
    private let list = Lock([String]())

    init(isWilling: Bool = true, choice: String? = "ada") {
      self.isWilling = isWilling
      self.choice = choice
    }

    var calls: [String] { list.withLock { $0 } }
    private func note(_ call: String) { list.withLock { $0.append(call) } }

    func twitterAuthenticatorMayAccessAccounts() async -> Bool {
      note("access")
      return isWilling
    }
    func twitterAuthenticator(chooseAccountFrom usernames: [String]) async -> String? {
      note("choose \(usernames)")
      return choice
    }
    func twitterAuthenticator(didSignIn credentials: TwitterCredentials) async {
      note("signed in \(credentials.screenName)")
    }
    func twitterAuthenticator(didFail problem: TwitterAuthenticatorProblem) async {
      note("failed \(problem)")
    }
    func facebookAuthenticator(mayAccessAccountWith permissions: [String]) async -> Bool {
      note("access \(permissions.joined(separator: ","))")
      return isWilling
    }
    func facebookAuthenticator(confirmAccount username: String) async -> Bool {
      note("confirm \(username)")
      return choice != nil
    }
    func facebookAuthenticator(didSignIn credentials: FacebookCredentials) async {
      note("signed in \(credentials.name)")
    }
    func facebookAuthenticator(didFail problem: FacebookAuthenticatorProblem) async {
      note("failed \(problem)")
    }
  }

  @Test func `The Twitter credentials have the person, both secrets and the large picture`()
    async throws
  {
    let script = Script(ReverseAuthFlowTests.happy, store: Sample.chirpStore(["ada", "bob"]))
    let credentials = try await TwitterAuthenticator(Self.application(script)).perform(
      grantAccess: { false }, chooseAccount: { $0.last })
    #expect(
      [credentials.id, credentials.name, credentials.screenName] == ["7", "Ada L.", "ada"])
    #expect(credentials.key == Secret("USER-TOKEN") && credentials.secret == Secret("USER-SECRET"))
    #expect(credentials.email == "ada@example.org")
    #expect(credentials.avatar == "https://pbs.example/1/x_400x400.png")
    #expect(script.store.accounts[1].lastUsedAt == Script.now)
  }

  @Test func `The Facebook credentials have the person, the token and the picture`() async throws {
    let script = Script(
      [.json(Sample.minted), .json(Sample.graphIdentity)], store: Sample.graphStore(grant: nil))
    var authenticator = FacebookAuthenticator(try Self.application(script))
    authenticator.permissions = ["email"]
    authenticator.audience = .friends
    let credentials = try await authenticator.perform(
      grantAccess: { $0 == ["email"] }, confirmAccount: { $0 == "ada@example.org" })
    #expect([credentials.id, credentials.name] == ["42", "Ada Lovelace"])
    #expect(credentials.token == Secret("MINTED") && credentials.email == "ada@example.org")
    #expect(credentials.avatar == "https://graph.facebook.com/42/picture?type=large")
    #expect(script.store.grants[0].audience == .friends)
  }

  @Test func `Without permissions the five defaults are asked for`() async throws {
    let script = Script(store: Sample.graphStore(grant: nil))
    let person = Person(isWilling: false)
    await FacebookAuthenticator(try Self.application(script), delegate: person).perform().value
    #expect(
      person.calls == [
        "access user_birthday,user_location,user_friends,email,public_profile",
        "failed facebookAccountAccessNotGranted",
      ])
  }

  @Test(
    "Each problem of Twitter ends in its own call of the delegate",
    arguments: [
      (Script([], store: Sample.chirpStore([], grant: nil)), "ada", "noSystemTwitterAccount"),
      (
        Script([], store: Sample.chirpStore(grant: .denied)), "ada",
        "twitterAccountAccessNotGranted"
      ),
      (Script([], store: Sample.chirpStore()), nil, "userCanceledAccountSelection"),
      (
        Script([], store: Sample.chirpStore()), "eve",
        #"accountStoreFailure("There is no Twitter account named eve.")"#
      ),
      (
        Script(
          [.text(Sample.requestToken), .text(String(repeating: "x", count: 3001))],
          store: Sample.chirpStore()), "ada", "twitterAccountBanned"
      ),
      (
        Script([.networkFailure(-1009)], store: Sample.chirpStore()), "ada",
        "networkFailure(-1009, "
      ),
      (Script([.text("no", status: 500)], store: Sample.chirpStore()), "ada", "twitterFailure("),
    ] as [(Script, String?, String)])
  func twitterProblems(script: Script, choice: String?, problem: String) async throws {
    let person = Person(choice: choice)
    await TwitterAuthenticator(try Self.application(script), delegate: person).perform().value
    #expect(person.calls.last?.hasPrefix("failed \(problem)") == true, "\(person.calls)")
    #expect(person.calls.filter { $0.hasPrefix("failed") }.count == 1)
    #expect(!person.calls.contains { $0.hasPrefix("signed in") })
  }

  @Test(
    "Each problem of Facebook ends in its own call of the delegate",
    arguments: [
      (Script([], store: ScriptedStore()), true, "noSystemFacebookAccount"),
      (
        Script([], store: Sample.graphStore(grant: .denied)), true,
        "facebookAccountAccessNotGranted"
      ),
      (Script([], store: Sample.graphStore()), false, "userCanceledAccountSelection"),
      (
        Script(
          [
            .json(Sample.minted), Sample.graphError(190, 463),
            .text(#"{"error":"invalid_grant"}"#, status: 400),
          ], store: Sample.graphStore()), true, "systemAccountReloginNeeded"
      ),
      (
        Script([.networkFailure(-1200)], store: Sample.graphStore()), true, "networkFailure(-1200, "
      ),
      (Script([.text("[]")], store: Sample.graphStore()), true, "facebookFailure("),
      (
        Script(
          [
            .json(
              #"{"error":{"message":"remote_app_id does not match stored id","type":"OAuthException","code":101}}"#,
              status: 400)
          ], store: Sample.graphStore()), true, "accountStoreFailure("
      ),
    ] as [(Script, Bool, String)])
  func facebookProblems(script: Script, confirms: Bool, problem: String) async throws {
    let person = Person(choice: confirms ? "yes" : nil)
    await FacebookAuthenticator(try Self.application(script), delegate: person).perform().value
    #expect(person.calls.last?.hasPrefix("failed \(problem)") == true, "\(person.calls)")
    #expect(person.calls.filter { $0.hasPrefix("failed") }.count == 1)
  }

  @Test func `A missing registration is the first problem, before any question`() async throws {
    let script = Script(store: Sample.chirpStore([], grant: .denied))
    let application = try Self.application(script, [])
    let person = Person()
    await TwitterAuthenticator(application, delegate: person).perform().value
    await FacebookAuthenticator(application, delegate: person).perform().value
    #expect(
      person.calls == [
        "failed twitterAuthenticatorUnconfigured", "failed facebookAuthenticatorUnconfigured",
      ])
  }

  @Test func `A delegate is called in the order of the sign-in`() async throws {
    let script = Script(
      ReverseAuthFlowTests.happy, store: Sample.chirpStore(["ada", "bob"], grant: nil))
    let person = Person()
    await TwitterAuthenticator(try Self.application(script), delegate: person).perform().value
    #expect(person.calls == ["access", #"choose ["ada", "bob"]"#, "signed in ada"])
  }

  @Test func `Without its delegate no decision about access is stored`() async throws {
    let chirp = Script(store: Sample.chirpStore(grant: nil))
    await TwitterAuthenticator(try Self.application(chirp), delegate: Person()).perform().value
    let graph = Script(store: Sample.graphStore(grant: nil))
    await FacebookAuthenticator(try Self.application(graph), delegate: Person()).perform().value
    #expect(chirp.store.grants.isEmpty && graph.store.grants.isEmpty)
    // The control: a delegate that declines.
    let person = Person(isWilling: false)
    await TwitterAuthenticator(try Self.application(chirp), delegate: person).perform().value
    #expect(chirp.store.grants.count == 1)
  }

  @Test func `A sign-in that is cancelled at once asks nothing`() async throws {
    let script = Script(store: Sample.chirpStore(grant: nil))
    let person = Person()
    let authenticator = TwitterAuthenticator(try Self.application(script), delegate: person)
    let (cancellation, end) = AsyncStream<Void>.makeStream()
    let running = Task {
      for await _ in cancellation {}
      return try await authenticator.perform(
        grantAccess: { await person.twitterAuthenticatorMayAccessAccounts() },
        chooseAccount: { $0.first })
    }
    running.cancel()
    let problem = await #expect(throws: TwitterAuthenticatorProblem.self) {
      try await running.value
    }
    end.finish()
    #expect(problem == .networkFailure(-999, "The sign-in was cancelled."))
    #expect(person.calls.isEmpty)
  }

  @Test func `Without its delegate a sign-in ends without a request`() async throws {
    let script = Script(ReverseAuthFlowTests.happy, store: Sample.chirpStore())
    let authenticator = TwitterAuthenticator(try Self.application(script), delegate: Person())
    await authenticator.perform().value
    #expect(script.requests.isEmpty)
  }
}
