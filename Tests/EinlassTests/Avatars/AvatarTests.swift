import TestSupport
import Testing

@testable import Einlass

/// `avatars.get`: which addresses are fetched, and which answers are kept.
@Suite struct AvatarTests {
  static let address = "https://pictures.example/ada"
  static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]
  static let id = Account.ID(rawValue: "a_ada")

  static func script(
    _ replies: [Script.Reply], at address: String? = address,
    grant: AccessGrant.State? = .granted
  ) -> Script {
    var account = Sample.account("ada", "twitter")
    account.avatar = address
    return Script(
      replies,
      store: ScriptedStore(accounts: [account], grants: Sample.grants("twitter", grant)))
  }

  static func avatar(_ script: Script) async throws -> KeptAvatar? {
    try await Sample.engine(script).avatar(of: id, for: Sample.application)
  }

  static func problem(_ script: Script) async throws -> Problem {
    try #require(await #expect(throws: Problem.self) { _ = try await avatar(script) })
  }

  @Test(
    arguments: [
      (png, .png), ([0xFF, 0xD8, 0xFF, 0xE0], .jpeg), (Array("GIF87a".utf8), .gif),
      (Array("GIF89a".utf8), .gif), (Array("RIFF\u{1}\u{1}\u{1}\u{1}WEBPVP8 ".utf8), .webp),
      (Array(png.dropLast(2)), nil), ([0xFF, 0xD8], nil), (Array("GIF88a".utf8), nil),
      (Array("RIFF\u{1}\u{1}\u{1}\u{1}WAVE".utf8), nil), ([], nil),
      (Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8), nil),
      (Array("<?xml version=\"1.0\"?><svg/>".utf8), nil), (Array("<!DOCTYPE html>".utf8), nil),
      ([0x1F, 0x8B, 0x08, 0], nil),
    ] as [([UInt8], AvatarFormat?)])
  func `The first bytes decide the format`(bytes: [UInt8], format: AvatarFormat?) {
    #expect(AvatarFormat(of: bytes) == format)
  }

  @Test func `A picture is fetched without a credential and kept`() async throws {
    let script = Self.script([.bytes(Self.png)])
    let kept = try await Self.avatar(script)
    #expect(kept == KeptAvatar(path: "/\(Self.address)", format: .png, fetchedAt: Script.now))
    let request = try #require(script.requests.first)
    #expect(request.needsPublicAddress && request.responseLimitBytes == 256 << 10)
    #expect(request.headers == [.init("Accept", "image/png, image/jpeg, image/gif, image/webp")])
    #expect(request.cookies == nil && request.identity == nil && request.trust == ServerTrust())
  }

  @Test func `An account without a picture has none`() async throws {
    #expect(try await Self.avatar(Self.script([], at: nil)) == nil)
  }

  @Test(arguments: [nil, .denied] as [AccessGrant.State?])
  func `Without access nothing is fetched`(grant: AccessGrant.State?) async throws {
    let script = Self.script([.bytes(Self.png)], grant: grant)
    #expect(try await Self.problem(script).reason == .accessNotGranted)
    #expect(script.requests.isEmpty)
  }

  @Test(arguments: [
    "http://pictures.example/ada", "file:///etc/passwd", "ftp://pictures.example/ada",
    "https://ada:secret@pictures.example/ada", "https://pictures.example:8443/ada",
    "https://127.0.0.1/ada", "https://[::1]/ada", "https://8.8.8.8/ada", "https://[2606:4700::1]/",
    "https://localhost/ada", "https://2130706433/ada", "https://0177.0.0.1/ada",
    "https://0x7f.0.0.1/ada", "https://127.1/ada", "https://pictures.example./ada",
    "data:image/png;base64,AA==", "https://pictures.example/a b", "//pictures.example/ada", "/ada",
    "",
  ])
  func `An address that is not https at a domain name is not fetched`(address: String) async throws
  {
    let own = Self.script([.bytes(Self.png)], at: address)
    let problem = try await Self.problem(own)
    #expect(problem.reason == .unsafeURL && problem.detail == "notPublic")
    #expect(own.requests.isEmpty)
    // The same by a redirect. These two are addresses at the same server there.
    guard !address.hasPrefix("/") else { return }
    let moved = Self.script([
      .text("", status: 302, headers: [.init("location", address)]), .bytes(Self.png),
    ])
    #expect(try await Self.problem(moved).reason == .unsafeURL)
    #expect(moved.requests.count == 1)
  }

  @Test(arguments: [301, 302, 303, 307, 308], ["/b", "https://elsewhere.example/b"])
  func `A redirect is followed`(status: Int, place: String) async throws {
    let script = Self.script([
      .text("", status: status, headers: [.init("location", place)]), .bytes(Self.png),
    ])
    #expect(try await Self.avatar(script)?.format == .png)
    let host = place == "/b" ? "https://pictures.example" : "https://elsewhere.example"
    #expect(script.log == ["GET \(Self.address)", "GET \(host)/b"])
    #expect(script.requests.allSatisfy { $0.needsPublicAddress })
  }

  @Test func `Three redirects are followed, and four are refused`() async throws {
    let redirect = Script.Reply.text("", status: 302, headers: [.init("location", "/again")])
    let three = Self.script(Array(repeating: redirect, count: 3) + [.bytes(Self.png)])
    #expect(try await Self.avatar(three)?.format == .png)
    let four = Self.script(Array(repeating: redirect, count: 4) + [.bytes(Self.png)])
    #expect(try await Self.problem(four).networkCode == -1007)
    #expect(four.requests.count == 4)
  }

  @Test(
    arguments: [
      .text("<svg/>"), .text("<html>"), .bytes([]), .bytes(png, status: 404),
      .bytes(png, status: 206),
      .bytes(png, status: 304), .bytes(png, status: 500),
    ] as [Script.Reply])
  func `An answer that is no picture is not kept`(reply: Script.Reply) async throws {
    let script = Self.script([reply])
    let problem = try await Self.problem(script)
    #expect(problem.reason == .providerFailure && problem.account == Self.id)
    #expect(script.store.avatars.isEmpty)
  }

  @Test func `A picture is fetched anew after a day, and the former one stays if that fails`()
    async throws
  {
    func script(fetchedAt: UnixTime, _ replies: [Script.Reply]) -> Script {
      let script = Self.script(replies)
      script.store.avatars[Self.address] = KeptAvatar(
        path: "/kept", format: .gif, fetchedAt: fetchedAt)
      return script
    }
    let day: UnixTime = 86_400
    for age in [0, 1, day - 1] {
      let fresh = script(fetchedAt: Script.now - age, [])
      #expect(try await Self.avatar(fresh)?.path == "/kept")
      #expect(fresh.requests.isEmpty)
    }
    // A picture from the future is old too, because the clock was set.
    for age in [day, 10 * day, -1] {
      let old = script(fetchedAt: Script.now - age, [.bytes(Self.png)])
      #expect(try await Self.avatar(old)?.fetchedAt == Script.now)
    }
    for reply: Script.Reply in [.networkFailure(-1009), .text("<html>", status: 503)] {
      let unreachable = script(fetchedAt: Script.now - day, [reply])
      #expect(try await Self.avatar(unreachable)?.fetchedAt == Script.now - day)
    }
    let cancelled = script(fetchedAt: 0, [.problem(Problem(.cancelled, "Cancelled."))])
    #expect(try await Self.problem(cancelled).reason == .cancelled)
  }

  @Test func `A removed account leaves no picture, unless another account has the same`()
    async throws
  {
    var (ada, grace) = (Sample.account("ada", "twitter"), Sample.account("grace", "twitter"))
    ada.avatar = Self.address
    grace.avatar = Self.address
    let store = ScriptedStore(accounts: [ada, grace])
    store.avatars = [
      Self.address: KeptAvatar(path: "/a", format: .png, fetchedAt: 1),
      "https://former.example": KeptAvatar(path: "/b", format: .png, fetchedAt: 1),
    ]
    let engine = try Sample.engine(Script(store: store))
    _ = try await engine.removeAccount(ada.id)
    #expect(Array(store.avatars.keys) == [Self.address])
    _ = try await engine.removeAccount(grace.id)
    #expect(store.avatars.isEmpty)
  }
}
