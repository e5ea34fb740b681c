import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The refresh of a token that was traded for an assertion.
@Suite struct AssertionRenewalTests {
  private typealias World = AssertionWorld

  /// Signs in from ada's account, or by the file, and lets the token end.
  private func ended(
    _ script: Script, _ engine: Einlass, from account: Account.ID? = World.adaID, more: String = ""
  ) async throws -> Account.ID {
    if account == nil {
      script.write(World.jwt { $0["exp"] = JSONValue(Script.now + 86_400) }, to: World.file)
    } else {
      script.reply(World.issued(World.jwt()))
    }
    script.reply(World.token(more: more))
    let id = try await engine.signIn(World.request(from: account), asking: script.asker([])).account
      .id
    script.advance(seconds: 3600)
    return id
  }

  private func world(idTokenSeconds: Int64 = 86_400) throws -> (Script, Einlass) {
    let script = Script(store: World.store(idToken: World.idToken(seconds: idTokenSeconds)))
    return (script, try World.engine(script))
  }

  private static func fresh(_ jti: String = "2", seconds: Int64 = 7200) -> String {
    World.jwt {
      $0["exp"] = JSONValue(Script.now + seconds)
      $0["jti"] = .string(jti)
    }
  }

  private func problem(_ engine: Einlass, _ id: Account.ID) async throws -> Problem? {
    do throws(Problem) {
      _ = try await engine.credential(World.wish(id))
      return nil
    } catch { return error }
  }

  @Test func `An ended token is replaced with a new assertion from the same account`() async throws
  {
    let (script, engine) = try world()
    let id = try await ended(script, engine)
    #expect(
      try engine.nextRefresh(World.wish(id), since: Script.now) == Script.now + 3540)
    script.reply(World.issued(Self.fresh()), World.token("AT2"))
    _ = try await engine.credential(World.wish(id))
    #expect(World.text(script.store.credentials(of: id).first) == "AT2")
    #expect(World.form(script.requests[3])[1] == Parameter("assertion", Self.fresh()))
    #expect(
      script.store.credentials(of: id).first?.assertionSource
        == .account(provider: "idp", subject: "ada-7"))
    // A token that a resource refuses is replaced without an identity request.
    try await engine.reject(World.wish(id))
    script.reply(World.issued(Self.fresh("3")), World.token("AT3"))
    _ = try await engine.credential(World.wish(id))
    #expect(World.text(script.store.credentials(of: id).first) == "AT3")
    #expect(script.requests.count == 6)
    // auth.perform does the same.
    script.advance(seconds: 3600)
    script.reply(World.issued(Self.fresh("4", seconds: 86_400)), World.token("AT4"))
    var wish = PerformRequest(
      application: Sample.application, registration: World.target, provider: "as", account: id)
    wish.registrations = { World.registration($0) }
    _ = try await engine.perform(wish, asking: script.asker([]))
    #expect(World.text(script.store.credentials(of: id).first) == "AT4")
  }

  @Test func `The id_token is refreshed under the lease of its account alone`() async throws {
    let (script, engine) = try world(idTokenSeconds: 3000)
    let id = try await ended(script, engine)
    let idToken = World.idToken(seconds: 86_400, issuedAfter: 3600)
    script.reply(
      .json(
        #"{"access_token":"IDP-AT2","token_type":"Bearer","expires_in":99999,"id_token":"\#(idToken)"}"#
      ), World.issued(Self.fresh()), World.token("AT2"))
    let before = script.store.leases.count
    _ = try await engine.credential(World.wish(id))
    #expect(
      script.store.leases.dropFirst(before)
        == ["take a_ada", "end a_ada", "take \(id.rawValue)", "end \(id.rawValue)"])
    #expect(World.form(script.requests[3]).contains(Parameter("subject_token", idToken)))
  }

  @Test func `A refresh token comes first, and the assertion only if it is refused`() async throws {
    let (script, engine) = try world()
    let id = try await ended(script, engine, more: #","refresh_token":"RT""#)
    script.reply(World.token("AT2", more: #","refresh_token":"RT2""#))
    _ = try await engine.credential(World.wish(id))
    #expect(script.requests.count == 3)
    #expect(World.form(script.requests[2]).contains(Parameter("refresh_token", "RT")))
    script.advance(seconds: 3600)
    script.reply(
      World.refusal, World.issued(Self.fresh(seconds: 86_400)), World.token("AT3"))
    _ = try await engine.credential(World.wish(id))
    #expect(script.requests.count == 6)
    guard case .oauth2(let token)? = script.store.credentials(of: id).first?.credential else {
      Issue.record("Nothing is stored.")
      return
    }
    #expect(
      token.refreshToken == nil && World.text(script.store.credentials(of: id).first) == "AT3")
    // The assertion is tried once after a refused refresh token.
    script.advance(seconds: 3600)
    script.reply(World.issued(Self.fresh("3", seconds: 86_400)), World.refusal)
    #expect(try await problem(engine, id)?.reason == .reloginNeeded)
    #expect(script.requests.count == 8)
  }

  @Test func `A failing server is not asked for an assertion after a lost refresh`() async throws {
    let (script, engine) = try world()
    let id = try await ended(script, engine, more: #","refresh_token":"RT""#)
    script.reply(.json("{}", status: 503))
    #expect(try await problem(engine, id)?.isRetryable == true)
    #expect(script.requests.count == 3)
  }

  @Test func `A source that is signed out or removed is named`() async throws {
    for isRemoved in [false, true] {
      let (script, engine) = try world()
      let id = try await ended(script, engine)
      if isRemoved {
        _ = try await engine.removeAccount(World.adaID)
      } else {
        _ = try await engine.signOut(World.adaID, revokes: false)
      }
      let problem = try await problem(engine, id)
      #expect(problem?.reason == .reloginNeeded && problem?.account == id)
      #expect(problem?.provider == "as" && problem?.detail == "assertionSource")
      #expect(problem?.message.contains("IdP account \(isRemoved ? "ada-7" : "ada")") == true)
      #expect(problem?.hint?.method == "accounts.signIn")
      #expect(problem?.hint?.parameters["provider"] == "idp")
      #expect(problem?.hint?.parameters["account"] == (isRemoved ? nil : "a_ada"))
      #expect(script.requests.count == 2)
      // After a new sign-in to the source the refresh works again.
      #expect(try script.store.accountStore.account(id).health == .ok)
    }
  }

  @Test func `A source without an id_token is asked for a sign-in with the scope openid`()
    async throws
  {
    let (script, engine) = try world()
    let id = try await ended(script, engine)
    var ada = try #require(script.store.credentials(of: World.adaID).first)
    guard case .oauth2(var token) = ada.credential else { return }
    (token.idToken, token.refreshToken) = (nil, nil)
    ada.credential = .oauth2(token)
    script.store.put(ada, of: World.adaID)
    let problem = try await problem(engine, id)
    #expect(problem?.reason == .reloginNeeded && problem?.detail == "assertionSource")
    #expect(problem?.provider == "as" && problem?.account == id)
    #expect(problem?.hint?.parameters == ["provider": "idp", "account": "a_ada"])
    #expect(problem?.hint?.lists["scopes"] == ["openid"])
  }

  @Test func `Access that was taken back is missing for the refresh too`() async throws {
    let (script, engine) = try world()
    let id = try await ended(script, engine)
    _ = try engine.store.setGrant(Sample.grants("idp", .denied)[0], .usual)
    let problem = try await problem(engine, id)
    #expect(problem?.reason == .accessNotGranted && script.requests.count == 2)
  }

  @Test func `A file is read again for each token, and a refused one is not sent again`()
    async throws
  {
    let (script, engine) = try world()
    let id = try await ended(script, engine, from: nil)
    script.reply(World.refusal)
    #expect(try await problem(engine, id)?.reason == .reloginNeeded)
    #expect(script.requests.count == 2)
    let again = try await problem(engine, id)
    #expect(again?.reason == .verificationFailed && again?.detail == "refused")
    #expect(script.requests.count == 2)
    script.write(Self.fresh(), to: World.file)
    script.reply(World.token("AT2"))
    _ = try await engine.credential(World.wish(id))
    #expect(World.text(script.store.credentials(of: id).first) == "AT2")
    #expect(try script.store.accountStore.account(id).health == .ok)
  }

  @Test func `A token serves until its end while no assertion can be had`() async throws {
    let (script, engine) = try world()
    let id = try await ended(script, engine, from: nil)
    script.advance(seconds: -30)
    script.write("opaque", to: World.file)
    #expect(try await engine.credential(World.wish(id)).credential != nil)
    script.advance(seconds: 30)
    #expect(try await problem(engine, id)?.detail == "form")
    #expect(script.requests.count == 1)
  }

  @Test func `Two accounts that need each other's id_token end in a problem, not in a loop`()
    async throws
  {
    let (script, engine) = try world()
    let id = try await ended(script, engine)
    var ada = try #require(script.store.credentials(of: World.adaID).first)
    ada.assertionSource = .account(provider: "as", subject: "ada-7")
    ada.binding.flowKind = .tokenExchange
    guard case .oauth2(var token) = ada.credential else { return }
    token.expiresAt = Script.now
    token.refreshToken = nil
    ada.credential = .oauth2(token)
    let store = ScriptedStore(
      accounts: script.store.accounts, grants: script.store.grants,
      credentials: [World.adaID: [ada], id: script.store.credentials(of: id)])
    let cycle = Script(store: store)
    cycle.advance(seconds: 3600)
    let problem = try await problem(World.engine(cycle), id)
    #expect(problem?.reason == .reloginNeeded && problem?.detail == "assertionSource")
    #expect(problem?.message.contains("comes from an account that needs this one") == true)
    #expect(cycle.requests.isEmpty)
  }
}
