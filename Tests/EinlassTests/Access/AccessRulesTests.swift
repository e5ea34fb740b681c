import EinlassCrypto
import Testing

@testable import Einlass

struct AccessRulesTests {
  static let many = try! ProviderCatalog.builtIn.provider("twitter")
  static let one = try! ProviderCatalog.builtIn.provider("facebook")

  func request(_ change: (inout PerformRequest) -> Void = { _ in }) -> PerformRequest {
    var request = PerformRequest(
      application: Sample.application, registration: nil, provider: "any")
    change(&request)
    return request
  }

  func grant(
    _ state: AccessGrant.State, _ permissions: [String] = [],
    _ audience: AccessGrant.Audience? = nil
  ) -> AccessGrant {
    AccessGrant(
      application: Sample.application, provider: "any", state: state, permissions: permissions,
      audience: audience, changedAt: 0)
  }

  /// So many accounts within the grant.
  func accounts(_ count: Int) -> AccountChoices {
    let accounts = (0..<count).map { Sample.account("u\($0)", "any") }
    return AccountChoices(hasAccounts: count > 0, first: accounts.first, lastUsed: accounts)
  }

  func word(_ access: AccessRules.Access) -> String {
    switch access {
    case .granted: "granted"
    case .ask(let prompt): "ask \(prompt.kind.rawValue)"
    case .problem(let problem): problem.reason.rawValue
    }
  }

  /// The choice among these accounts, with the provider changed to this one.
  func choice(_ request: PerformRequest, at provider: Provider, _ accounts: [Account])
    throws(Problem) -> AccessRules.Choice
  {
    let accounts = accounts.map { account in
      var account = account
      account.provider = provider.id
      return account
    }
    return AccessRules.choice(
      request, at: provider,
      among: try AccountStore.Snapshot(accounts: accounts).choices(
        for: request, at: provider, within: nil))
  }

  func word(_ choice: AccessRules.Choice) -> String {
    switch choice {
    case .use(let account, _): "use \(account.username)"
    case .ask(.selectAccount(let accounts, _)):
      "select \(accounts.map(\.username).joined(separator: ","))"
    case .ask(.confirmAccount(let account)): "confirm \(account.username)"
    case .ask(let prompt): "ask \(prompt.kind.rawValue)"
    case .problem(let problem): problem.reason.rawValue
    }
  }

  @Test(
    "Access depends on the grant and on the existence of an account",
    arguments: [
      (nil, 0, "noSystemAccount"), (nil, 1, "ask grantAccess"), (nil, 2, "ask grantAccess"),
      (.granted, 0, "noSystemAccount"), (.granted, 1, "granted"), (.granted, 2, "granted"),
      (.denied, 0, "accessNotGranted"), (.denied, 1, "accessNotGranted"),
      (.denied, 2, "accessNotGranted"),
    ] as [(AccessGrant.State?, Int, String)])
  func access(state: AccessGrant.State?, count: Int, expected: String) {
    for provider in [Self.many, Self.one] {
      let access = AccessRules.access(
        request(), at: provider, grant: state.map { grant($0) }, among: accounts(count))
      #expect(word(access) == expected)
    }
  }

  @Test(
    "An unsuitable named account is reported before any question and any sign-in",
    arguments: [
      (nil, nil, false, "unknownAccount"), (nil, nil, true, "unknownAccount"),
      (nil, "other", false, "invalidChoice"), (.granted, "other", true, "invalidChoice"),
      (.denied, nil, false, "accessNotGranted"), (nil, "twitter", true, "ask grantAccess"),
      (.granted, "twitter", true, "granted"),
    ] as [(AccessGrant.State?, String?, Bool, String)])
  func unsuitableAccount(
    state: AccessGrant.State?, provider: String?, hasAccounts: Bool, expected: String
  ) {
    let named = provider.map { Sample.account("u0", $0) }
    let request = request { $0.account = Account.ID(rawValue: "a_u0") }
    let access = AccessRules.access(
      request, at: Self.many, grant: state.map { grant($0) },
      among: AccountChoices(named: named, hasAccounts: hasAccounts))
    #expect(word(access) == expected)
  }

  @Test(
    "One account is confirmed or used, and several are offered",
    arguments: [
      (PerformRequest.Selection.always, 1, false, "select u0", "confirm u0"),
      (.always, 1, true, "select u0", "use u0"), (.whenMany, 1, false, "use u0", "use u0"),
      (.always, 2, false, "select u0,u1", "confirm u0"),
      (.whenMany, 2, false, "select u0,u1", "use u0"), (.always, 2, true, "select u0,u1", "use u0"),
      (.always, 0, false, "noSystemAccount", "noSystemAccount"),
    ])
  func choice(
    selection: PerformRequest.Selection, count: Int, confirms: Bool, atMany: String, atOne: String
  ) throws {
    let accounts = (0..<count).map { Sample.account("u\($0)", "any") }
    let request = request {
      $0.selection = selection
      $0.confirmsOnlyAccount = confirms
    }
    #expect(word(try choice(request, at: Self.many, accounts)) == atMany)
    #expect(word(try choice(request, at: Self.one, accounts)) == atOne)
  }

  @Test("An account named in advance is used if its id matches as bytes")
  func namedAccount() throws {
    let accounts = [Sample.account("u0", "any"), Sample.account("K", "any")]
    for (name, expected) in [
      ("u0", "use u0"), ("K", "use K"), ("\u{212A}", "unknownAccount"), ("x", "unknownAccount"),
    ] {
      let request = request { $0.account = Account.ID(rawValue: "a_\(name)") }
      #expect(word(try choice(request, at: Self.many, accounts)) == expected)
    }
  }

  @Test("Recently used accounts come first, then unused ones by age, a hundred at most")
  func order() throws {
    var accounts = (0..<102).map { Sample.account("u\($0)", "any") }
    accounts[7].lastUsedAt = 5
    accounts[9].lastUsedAt = 6
    let choice = try choice(request(), at: Self.many, accounts)
    guard case .ask(.selectAccount(let offered, let more)) = choice else {
      Issue.record("Nobody was asked.")
      return
    }
    #expect(offered.prefix(4).map(\.username) == ["u9", "u7", "u0", "u1"])
    #expect(offered.count == 100)
    #expect(more)
  }

  @Test("An account of another provider is an invalid choice")
  func ofAnotherProvider() throws {
    let request = request { $0.account = Account.ID(rawValue: "a_u0") }
    let others = AccountStore.Snapshot(accounts: [Sample.account("u0", "facebook")])
    let choices = try others.choices(for: request, at: Self.many, within: nil)
    #expect(word(AccessRules.choice(request, at: Self.many, among: choices)) == "invalidChoice")
  }

  @Test(
    "The preferred account comes first, even if it was not used for long", arguments: [2, 100, 101])
  func preferred(count: Int) throws {
    var accounts = (0..<count).map { Sample.account("u\($0)", "any") }
    accounts[count - 1].preferredBy = [Sample.application]
    let choice = try choice(request(), at: Self.many, accounts)
    guard case .ask(.selectAccount(let offered, let more)) = choice else {
      Issue.record("Nobody was asked.")
      return
    }
    #expect(offered.prefix(2).map(\.username) == ["u\(count - 1)", "u0"])
    #expect(Set(offered.map(\.username)).count == min(count, 100))
    #expect(more == (count > 100))
  }

  @Test(
    "Permissions beyond the granted ones are prompted for by name",
    arguments: [
      ([], nil, nil), ([], ["email"], nil), (["email"], ["email"], nil),
      (["email", "a"], ["a"], nil), (["email"], ["email", "a", "b"], ["a", "b"]),
      (["email"], nil, ["user_birthday", "user_location", "user_friends", "public_profile"]),
      (["\u{212A}"], ["K"], ["K"]),
    ] as [([String], [String]?, [String]?)])
  func added(granted: [String], asked: [String]?, added: [String]?) {
    let access = AccessRules.access(
      request { $0.permissions = asked }, at: Self.one, grant: grant(.granted, granted),
      among: accounts(1))
    guard case .ask(.grantAccess(_, _, let new, _)) = access else {
      #expect(access == .granted)
      #expect(added == nil)
      return
    }
    #expect(new == added)
  }

  @Test(
    "An audience wider than the granted one is prompted for",
    arguments: [
      (nil, nil, false), (nil, .onlyMe, false), (nil, .friends, true), (.friends, .everyone, true),
      (.everyone, .friends, false), (.everyone, nil, false),
    ] as [(AccessGrant.Audience?, AccessGrant.Audience?, Bool)])
  func audience(granted: AccessGrant.Audience?, asked: AccessGrant.Audience?, isAsked: Bool) {
    let access = AccessRules.access(
      request { $0.audience = asked }, at: Self.one, grant: grant(.granted, [], granted),
      among: accounts(1))
    #expect((access != .granted) == isAsked)
  }

  @Test("The prompt contains permissions, audience and the refresh token")
  func question() {
    let access = AccessRules.access(
      request {
        $0.permissions = ["email"]
        $0.audience = .friends
        $0.includesRefreshToken = true
      }, at: Self.one, grant: nil, among: accounts(1))
    #expect(
      access
        == .ask(
          .grantAccess(
            permissions: ["email"], audience: .friends, added: ["email"],
            includes: [.refreshToken])))
  }

  @Test(
    "A refresh token needs a grant that includes it, and a grant keeps its inclusions",
    arguments: [
      ([], false, false), ([], true, true), ([.refreshToken], true, false),
      ([.refreshToken], false, false),
    ] as [([AccessGrant.Inclusion], Bool, Bool)])
  func includes(granted: [AccessGrant.Inclusion], isWanted: Bool, isAsked: Bool) {
    var before = grant(.granted)
    before.includes = granted
    let request = request { $0.includesRefreshToken = isWanted }
    let access = AccessRules.access(
      request, at: Self.many, grant: before, among: accounts(1))
    let question = Prompt.grantAccess(
      permissions: [], audience: nil, added: [], includes: [.refreshToken])
    #expect(access == (isAsked ? .ask(question) : .granted))
    let after = AccessRules.grant(
      .granted, to: request, at: Self.many, before: before, among: accounts(1), now: 9)
    #expect(after.includes == (isWanted ? [.refreshToken] : granted))
  }

  @Test("Earlier permissions and the wider audience stay granted")
  func remembered() {
    let grant = AccessRules.grant(
      .granted,
      to: request {
        $0.permissions = ["b", "a"]
        $0.audience = .onlyMe
      }, at: Self.one, before: grant(.granted, ["a"], .friends), among: accounts(1), now: 9)
    #expect(grant.permissions == ["a", "b"])
    #expect(grant.audience == .friends)
    #expect(grant.changedAt == 9)
  }

  @Test(
    "A grant for some accounts opens these alone",
    arguments: [
      (nil, "granted", "select u1,u2"), ("u1", "granted", "use u1"),
      ("u0", "ask grantAccess", "use u0"),
    ] as [(String?, String, String)])
  func someAccounts(named: String?, access: String, choice: String) throws {
    let all = (0..<3).map { Sample.account("u\($0)", Self.many.id) }
    var grant = grant(.granted)
    grant.accounts = [all[1].id, all[2].id, Account.ID(rawValue: "a_removed")]
    let request = request { $0.account = named.map { Account.ID(rawValue: "a_\($0)") } }
    let choices = try AccountStore.Snapshot(accounts: all).choices(
      for: request, at: Self.many, within: grant)
    #expect(
      word(AccessRules.access(request, at: Self.many, grant: grant, among: choices)) == access)
    #expect(word(AccessRules.choice(request, at: Self.many, among: choices)) == choice)
    #expect(grant.allows(all[1].id) && !grant.allows(all[0].id))
    grant.state = .denied
    #expect(!grant.allows(all[1].id))
  }

  @Test("A grant whose accounts are all removed asks again")
  func noAccountLeft() throws {
    var grant = grant(.granted)
    grant.accounts = [Account.ID(rawValue: "a_removed")]
    let choices = try AccountStore.Snapshot(accounts: [Sample.account("u0", Self.many.id)]).choices(
      for: request(), at: Self.many, within: grant)
    let access = AccessRules.access(request(), at: Self.many, grant: grant, among: choices)
    #expect(word(access) == "ask grantAccess")
  }

  @Test(
    "The answer opens every account, unless it is about rights of accounts with access",
    arguments: [(nil, true), ("a_u0", true), ("a_u1", false)] as [(String?, Bool)])
  func allAfterSome(named: String?, isLimited: Bool) {
    var before = grant(.granted)
    before.accounts = [Account.ID(rawValue: "a_u0")]
    let request = request {
      $0.account = named.map(Account.ID.init(rawValue:))
      $0.includesRefreshToken = true
    }
    let after = AccessRules.grant(
      .granted, to: request, at: Self.many, before: before, among: accounts(1), now: 9)
    #expect(after.accounts == (isLimited ? before.accounts : nil))
    #expect(after.includes == [.refreshToken])
  }

  @Test(
    "The answer about another account has no right of the former grant that the prompt does not show",
    arguments: [("a_u0", true), ("a_u1", false)])
  func rightsOfAnotherAccount(named: String, keepsRights: Bool) {
    var before = grant(.granted, ["a"], .friends)
    before.accounts = [Account.ID(rawValue: "a_u0")]
    before.includes = [.refreshToken]
    let request = request {
      $0.account = Account.ID(rawValue: named)
      $0.permissions = ["b"]
      $0.audience = .onlyMe
    }
    let after = AccessRules.grant(
      .granted, to: request, at: Self.one, before: before, among: accounts(1), now: 9)
    #expect(after.permissions == (keepsRights ? ["a", "b"] : ["b"]))
    #expect(after.audience == (keepsRights ? .friends : .onlyMe))
    #expect(after.includes == (keepsRights ? [.refreshToken] : []))
  }

  /// The accounts that the application has after a sign-in to `new`; `nil` if the grant stays.
  func joined(
    _ before: AccessGrant?, _ change: (inout SignInRequest) -> Void = { _ in }
  ) -> AccessGrant? {
    var request = SignInRequest(
      application: Sample.application, registration: nil, provider: Self.one.id)
    change(&request)
    return AccessRules.grant(
      bySigningInTo: Account.ID(rawValue: "new"), request, at: Self.one, before: before, now: 9)
  }

  @Test("A sign-in grants the account with the requested permissions and nothing else")
  func firstSignIn() {
    let grant = joined(nil) {
      $0.permissions = ["email"]
      $0.audience = .onlyMe
      $0.applicationTitle = "Editor"
    }
    #expect(
      grant
        == AccessGrant(
          application: Sample.application, provider: Self.one.id, state: .granted,
          accounts: [Account.ID(rawValue: "new")], permissions: ["email"], audience: .onlyMe,
          title: "Editor", changedAt: 9))
  }

  @Test("A sign-in leaves a denial, a grant of all accounts, and other rights as they are")
  func laterSignIn() throws {
    let first = try #require(joined(nil))
    var before = first
    before.accounts = [Account.ID(rawValue: "old")]
    #expect(joined(before)?.accounts?.map(\.rawValue) == ["old", "new"])
    #expect(joined(first) == nil)
    #expect(joined(before) { $0.permissions = ["email"] } == nil)
    #expect(joined(before) { $0.audience = .everyone } == nil)
    before.permissions = ["email", "friends"]
    #expect(joined(before) { $0.permissions = ["friends", "email"] } != nil)
    before.permissions = first.permissions
    for (count, joins) in [(99, true), (100, false)] {
      before.accounts = (0..<count).map { Account.ID(rawValue: "a_\($0)") }
      #expect((joined(before) != nil) == joins)
    }
    before = first
    before.accounts = nil
    #expect(joined(before) == nil)
    before.accounts = []
    before.includes = [.refreshToken]
    #expect(joined(before) == nil)
    before.includes = []
    #expect(joined(before) != nil)
    before.state = .denied
    #expect(joined(before) == nil)
  }
}
