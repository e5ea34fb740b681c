import Einlass
import EinlassSystem
import TestSupport
import Testing

struct ClockJumpTests {
  /// Jumps in seconds: ten minutes and a day in both directions, to 1970 and to 2100.
  static let jumps: [Int64] = [
    0, 600, -600, 86_400, -86_400, -Script.now, 4_102_444_800 - Script.now,
  ]

  @Test("A token expires at its time by the clock's present setting", arguments: jumps)
  func expiry(jump: Int64) async throws {
    for (expiresAt, isGood) in [(Script.now + jump + 1, true), (Script.now + jump, false)] {
      // Zero means a token without an end.
      guard expiresAt > 0 else { continue }
      let info =
        #"{"data":{"app_id":"APP","is_valid":true,"expires_at":\#(expiresAt),"user_id":"42"}}"#
      let script = Script([.json(info), .json(#"{"id":"42","name":"Ada"}"#)])
      let effects = script.effects.with(now: { Script.now + jump })
      let engine = Einlass(
        catalog: ProviderCatalog.builtIn, store: script.store.accountStore, effects: effects)
      let result = try await engine.verify(
        VerifyRequest(
          application: Sample.application, registration: Sample.registration, provider: "facebook",
          subject: .credential(VerifyTests.graphToken), expected: .init()))
      #expect(result.checks.first { $0.check == .expiry }?.isOK == isGood)
      #expect(result.isValid == isGood)
    }
  }

  @Test(
    "After a jump of the clock the next request has its full time, and no more", arguments: jumps)
  func budget(jump: Int64) async throws {
    let clock = Lock(Script.now)
    let script = Script([.json("{}"), .json("{}")])
    let effects = script.effects.with(now: { clock.withLock { $0 } }).within(seconds: 30)
    let address = try WebAddress.parse("https://example.com/")
    _ = try await effects.send(HTTPRequest(.get, address))
    clock.withLock { $0 += 12 + jump }
    _ = try await effects.send(HTTPRequest(.get, address))
    let left = try #require(script.requests[1].timeout)
    // Negative control: without a jump the time of the first request is subtracted.
    #expect(left == (jump == 0 ? .seconds(18) : .seconds(30)))
  }
}
