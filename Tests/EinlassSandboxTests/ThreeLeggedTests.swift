import EinlassJSON
import Testing

@testable import EinlassSandbox

/// The three steps of OAuth 1.0a, at Twitter and at Flickr.
@Suite struct ThreeLeggedTests {
  /// One of the two providers and its addresses.
  struct Place: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var provider: any Provider
    var prefix: String
    var signer: TestSigner
    var pin: Int

    static let twitter = Place(
      testDescription: "twitter", provider: Twitter(), prefix: "/oauth", signer: TestSigner(),
      pin: 7)
    static let flickr = Place(
      testDescription: "flickr", provider: Flickr(), prefix: "/services/oauth",
      signer: TestSigner(consumer: "demo-flickr-key", consumerSecret: "demo-flickr-secret"), pin: 11
    )

    func client(_ sandbox: TestSandbox) -> TestClient {
      sandbox.ownPorts[testDescription].map { TestClient(port: $0) } ?? sandbox.providers
    }

    /// Sends a signed `POST` for one of the steps.
    func post(_ step: String, by signer: TestSigner, _ sandbox: TestSandbox) async throws -> Reply?
    {
      let client = client(sandbox)
      let path = "\(prefix)/\(step)"
      return try await client.send(
        "POST", path, headers: [signer.header("POST", path, port: client.port)])
    }

    /// Runs the first step and returns the signer with the request token.
    func open(_ callback: String, _ sandbox: TestSandbox) async throws -> TestSigner {
      var first = signer
      first.extra = [Parameter(name: "oauth_callback", value: callback)]
      let reply = try #require(try await post("request_token", by: first, sandbox))
      #expect(reply.status == 200, "\(reply.text)")
      let form = try #require([Parameter](formEncoded: reply.text))
      #expect(form["oauth_callback_confirmed"] == "true")
      var signer = signer
      let token: String = try #require(form["oauth_token"])
      let secret: String = try #require(form["oauth_token_secret"])
      (signer.token, signer.tokenSecret) = (token, secret)
      return signer
    }

    /// Opens the page, checks that it has a button to deny, and sends the person's decision.
    func decide(_ word: String, _ signer: TestSigner, _ sandbox: TestSandbox) async throws -> Reply
    {
      let target = "\(prefix)/authorize?oauth_token=\(signer.token ?? "")"
      let page = try await client(sandbox).send("GET", target)
      #expect(page?.text.contains("id=\"deny\"") == true)
      return try #require(try await client(sandbox).post(target, form: [("decision", word)]))
    }

    /// Runs the third step.
    func redeem(_ signer: TestSigner, _ verifier: String, _ sandbox: TestSandbox) async throws
      -> Reply?
    {
      var signer = signer
      signer.extra = [Parameter(name: "oauth_verifier", value: verifier)]
      return try await post("access_token", by: signer, sandbox)
    }
  }

  private static let callback = "http://127.0.0.1:4711/done?x=1"

  private func answer(_ reply: Reply) throws -> [Parameter] {
    #expect(reply.status == 302)
    let location = try #require(reply.header("location"))
    #expect(location.hasPrefix(Self.callback + "&"))
    return try #require(
      [Parameter](formEncoded: String(location.dropFirst(Self.callback.count + 1))))
  }

  @Test(arguments: [Place.twitter, .flickr])
  func `A callback delivers the verifier, which works once`(place: Place) async throws {
    try await TestSandbox.run(owners: [place.provider]) { sandbox async throws in
      let signer = try await place.open(Self.callback, sandbox)
      #expect(try await place.redeem(signer, "early", sandbox)?.status == 401)
      let answer = try answer(try await place.decide("allow", signer, sandbox))
      #expect(answer["oauth_token"] == signer.token)
      let verifier: String = try #require(answer["oauth_verifier"])
      #expect(try await place.redeem(signer, "wrong", sandbox)?.status == 401)
      var other = signer
      other.tokenSecret = "wrong"
      #expect(try await place.redeem(other, verifier, sandbox)?.status == 401)
      let reply = try #require(try await place.redeem(signer, verifier, sandbox))
      #expect(reply.status == 200, "\(reply.text)")
      let form = try #require([Parameter](formEncoded: reply.text))
      #expect(form["oauth_token"] != nil && form["oauth_token_secret"] != nil)
      #expect(form["user_id"] ?? form["user_nsid"] != nil)
      #expect(try await place.redeem(signer, verifier, sandbox)?.status == 401)
    }
  }

  @Test(arguments: [Place.twitter, .flickr])
  func `Without a callback the page shows a PIN`(place: Place) async throws {
    try await TestSandbox.run(owners: [place.provider]) { sandbox async throws in
      let signer = try await place.open("oob", sandbox)
      let page = try await place.decide("allow", signer, sandbox)
      #expect(page.status == 200)
      let pin = try #require(page.text.firstMatch(of: /id="message">([0-9-]+)</)).1
      #expect(pin.count == place.pin)
      #expect(try await place.redeem(signer, String(pin), sandbox)?.status == 200)
    }
  }

  @Test(arguments: [(Place.twitter, ["denied"]), (.flickr, ["oauth_token", "oauth_problem"])])
  func `A denial is reported in the provider's own format`(place: Place, names: [String])
    async throws
  {
    try await TestSandbox.run(owners: [place.provider]) { sandbox async throws in
      let signer = try await place.open(Self.callback, sandbox)
      let answer = try answer(try await place.decide("deny", signer, sandbox))
      #expect(answer.map(\.name) == names)
      let again = try await place.client(sandbox).send(
        "GET", "\(place.prefix)/authorize?oauth_token=\(signer.token ?? "")")
      #expect(again?.status == 400)
      let oob = try await place.open("oob", sandbox)
      #expect(try await place.decide("deny", oob, sandbox).status == 200)
      #expect(try await place.redeem(oob, "", sandbox)?.status == 401)
    }
  }

  @Test func `A callback must be registered if the application has a list of callbacks`()
    async throws
  {
    try await TestSandbox.run { sandbox async throws in
      try await sandbox.patch([
        "twitter": [
          "applications": ["demo-twitter-key": ["redirects": ["http://127.0.0.1/done"]]]
        ]
      ])
      var signer = Place.twitter.signer
      for (callback, code) in [
        ("http://127.0.0.1:5/done", nil), ("oob", nil), ("http://127.0.0.1:5/other", 415),
      ] as [(String, Int64?)] {
        signer.extra = [Parameter(name: "oauth_callback", value: callback)]
        let reply = try await Place.twitter.post("request_token", by: signer, sandbox)
        #expect(reply?.twitterCode == code)
      }
    }
  }

  @Test func `A token of Twitter can be revoked`() async throws {
    try await TestSandbox.run { sandbox async throws in
      let signer = try await sandbox.signIn()
      #expect(
        try await sandbox.twitter("POST", "/1.1/oauth/invalidate_token", by: signer)?.status == 200)
      #expect(try await sandbox.verifyCredentials(by: signer)?.twitterCode == 89)
    }
  }

  @Test func `Flickr reports API failures with status 200 and OAuth failures as oauth_problem`()
    async throws
  {
    try await TestSandbox.run(owners: [Flickr()]) { sandbox async throws in
      let place = Place.flickr
      var wrong = place.signer
      wrong.consumerSecret = "wrong"
      wrong.extra = [Parameter(name: "oauth_callback", value: "oob")]
      let refused = try await place.post("request_token", by: wrong, sandbox)
      #expect(refused?.status == 401)
      #expect(refused?.text == "oauth_problem=signature_invalid")
      let signer = try await place.open("oob", sandbox)
      let page = try await place.decide("allow", signer, sandbox)
      let pin = try #require(page.text.firstMatch(of: /id="message">([0-9-]+)</)).1
      let reply = try await place.redeem(signer, String(pin), sandbox)
      let form = try #require([Parameter](formEncoded: reply?.text ?? ""))
      var owner = place.signer
      let token: String = try #require(form["oauth_token"])
      let secret: String = try #require(form["oauth_token_secret"])
      (owner.token, owner.tokenSecret) = (token, secret)
      let query = [
        Parameter(name: "method", value: "flickr.test.login"),
        Parameter(name: "format", value: "json"), Parameter(name: "nojsoncallback", value: "1"),
      ]
      let client = place.client(sandbox)
      let ask = { (signer: TestSigner) async throws in
        let header = signer.header("GET", "/services/rest", port: client.port, query: query)
        return try await client.send(
          "GET", "/services/rest?" + query.formEncoded, headers: [header])
      }
      let good = try await ask(owner)?.json
      #expect(good?["stat"] == "ok")
      #expect(good?.at(pointer: "/user/id") == "12037949754@N01")
      #expect(good?.at(pointer: "/user/username/_content") == "Bees")
      owner.tokenSecret = "wrong"
      let bad = try await ask(owner)
      #expect(bad?.status == 200)
      #expect(bad?.json?["code"] == 96)
      owner.token = "unknown"
      #expect(try await ask(owner)?.json?["code"] == 98)
    }
  }
}
