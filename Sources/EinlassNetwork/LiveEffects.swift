import CSystem
public import Einlass
import EinlassCrypto
import EinlassSystem

/// The real effects.
public enum LiveEffects {
  /// Returns effects with this client. A test clock replaces the real time, except in the time
  /// limits of a transfer.
  public static func make(client: CurlClient, clock: TestClock? = nil) -> Effects {
    Effects(
      send: { request throws(Problem) in try await client.send(request) },
      certificate: { address, trust throws(Problem) in
        try await client.certificate(at: address, trust)
      },
      sleepUntil: { time throws(Problem) in
        if let clock { try await clock.sleep(until: time) } else { try await sleep(until: time) }
      },
      now: { clock?.now ?? now() },
      randomBytes: { SecureRandom.bytes($0) },
      nonce: { nonce() },
      openRedirect: { place async throws(Problem) in try await RedirectPort.open(place, client) },
      memory: .kept())
  }

  /// Returns effects with a client of these settings.
  public static func make(
    caFile: String? = nil, proxy: String? = nil, internalHosts: Set<String> = [],
    clock: TestClock? = nil
  ) -> Effects {
    make(
      client: CurlClient(
        CurlClient.Configuration(caFile: caFile, proxy: proxy, internalHosts: internalHosts)),
      clock: clock)
  }

  /// Returns the wall clock's time in whole seconds.
  public static func now() -> UnixTime { csystem_wall_clock_seconds() }

  /// Nonces are drawn 16 at a time, because a system call takes longer than the use of 16 bytes.
  private static func nonce() -> [UInt8] {
    drawn.withLock { drawn in
      if drawn.isEmpty { drawn = SecureRandom.bytes(256) }
      defer { drawn.removeLast(16) }
      return Array(drawn.suffix(16))
    }
  }

  private static let drawn = Lock<[UInt8]>([])

  private static let sleepers = Lock<SleepThread?>(nil)

  private static func sleepThread() throws(SystemError) -> SleepThread {
    try sleepers.withLock { thread throws(SystemError) in
      if thread == nil { thread = try SleepThread(name: "einlass-sleep") }
      return thread!
    }
  }

  private static func sleep(until time: UnixTime) async throws(Problem) {
    let seconds = min(max(time - now(), 0), 1 << 40)
    try await sleep(until: Deadline(milliseconds: Int(seconds) * 1000))
  }

  /// Waits until the deadline. Throws `cancelled` when the task is cancelled.
  static func sleep(until deadline: Deadline) async throws(Problem) {
    let isTimeUp: Bool
    do throws(SystemError) { isTimeUp = try await sleepThread().sleep(until: deadline) } catch {
      throw Problem(
        .internal, "einlass cannot wait, because \(error.explanation).", isRetryable: true)
    }
    if !isTimeUp { throw .sleepCancelled }
  }
}
