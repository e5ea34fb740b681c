import CCurl
import Einlass
import EinlassCrypto
import EinlassSystem
import Glibc

/// The thread for all transfers of one client, and its interface for other threads.
///
/// The thread waits in `curl_multi_poll`. Without a transfer it waits for the idle time once, then
/// closes the connections and ends. The next request starts another thread.
final class CurlLoop: Sendable {
  typealias Completion = @Sendable (Result<HTTPResponse, TransferFault>) -> Void

  @safe private struct State: @unchecked Sendable {
    var waiting: [CurlTransfer] = []
    var thread: pthread_t?
    /// Set while the thread can be woken.
    var multi: UnsafeMutableRawPointer?
    var isClosed = false

    func wake() {
      if let multi = unsafe multi { _ = unsafe ccurl_multi_wakeup(multi) }
    }
  }

  private let state = Lock(State())
  private let idle: Duration

  init(idle: Duration) { self.idle = idle }

  /// Starts a transfer. `completion` is called exactly once, usually on the loop's thread.
  func start(_ transfer: CurlTransfer, completion: @escaping Completion) {
    transfer.completion = completion
    let refusal: TransferFault? = state.withLock { state in
      if state.isClosed { return .cancelled }
      if state.thread == nil { state.thread = startThread() }
      if state.thread == nil { return .noThread }
      state.waiting.append(transfer)
      state.wake()
      return nil
    }
    if let refusal { transfer.end(.failure(refusal)) }
  }

  /// Ends a transfer with `cancelled` unless it has ended. May be called before `start`.
  func cancel(_ transfer: CurlTransfer) {
    transfer.isCancelled.withLock { $0 = true }
    state.withLock { $0.wake() }
  }

  /// Ends all transfers with `cancelled`.
  func close(waiting: Bool) {
    let thread = state.withLock { state in
      state.isClosed = true
      state.wake()
      defer { state.thread = nil }
      return state.thread
    }
    guard let thread else { return }
    _ = waiting ? pthread_join(thread, nil) : pthread_detach(thread)
  }

  private func startThread() -> pthread_t? {
    // Block all signals in this thread and in the resolver threads that libcurl starts from it.
    var all = sigset_t()
    var usual = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &usual)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &usual, nil) }
    var thread = pthread_t()
    let myself = unsafe Unmanaged.passRetained(self)
    let started = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument = unsafe argument {
          unsafe Unmanaged<CurlLoop>.fromOpaque(argument).takeRetainedValue().run()
        }
        return nil
      }, myself.toOpaque())
    if started != 0 { unsafe myself.release() }
    return started == 0 ? thread : nil
  }
}

// These functions run on the loop's thread.
extension CurlLoop {
  private func run() {
    // Start libcrypto before libcurl does. Started by libcurl, it would free its tables in `exit`
    // while a transfer may still run.
    CryptoLibrary.start()
    let library = ccurl_open()
    guard library == CCURL_READY else { return fail(library) }
    guard let multi = unsafe ccurl_multi_init() else { return fail(ccurl_shortage()) }
    guard unsafe ccurl_multi_wakeup(multi) == CURLM_OK else {
      // Without a wake-up the thread would not notice a new transfer.
      unsafe ccurl_multi_cleanup(multi)
      return fail(ccurl_shortage())
    }
    state.withLock { unsafe $0.multi = multi }
    var running: [UInt: CurlTransfer] = [:]
    var abandoned: [CurlTransfer]?
    repeat {
      unsafe admit(to: multi, &running)
      unsafe ccurl_multi_perform(multi)
      unsafe collect(from: multi, &running)
      let isIdle = running.isEmpty
      unsafe wait(for: multi, running)
      abandoned = retire { state in state.isClosed || (isIdle && state.waiting.isEmpty) }
    } while abandoned == nil
    for transfer in running.values { unsafe transfer.detach(from: multi) }
    for transfer in (abandoned ?? []) + running.values { transfer.end(.failure(.cancelled)) }
    unsafe ccurl_multi_cleanup(multi)
  }

  /// Waits for the next event. After a stop of this process every transfer has as much time left as
  /// before: libcurl looks at the time first, and would drop an answer that has arrived meanwhile.
  private func wait(for multi: UnsafeMutableRawPointer, _ running: [UInt: CurlTransfer]) {
    let timer = unsafe ccurl_multi_timeout(multi)
    let begun = Deadline(milliseconds: 0).monotonicMilliseconds
    unsafe ccurl_multi_poll(multi, Int32(idle.wholeMilliseconds))
    let passed = Int(Deadline(milliseconds: 0).monotonicMilliseconds - begun)
    guard !running.isEmpty, timer >= 0, passed > timer + 100 else { return }
    for transfer in running.values { transfer.prolong(milliseconds: passed) }
  }

  private func fail(_ library: ccurl_state) {
    for transfer in retire(if: { _ in true }) ?? [] {
      transfer.end(.failure(.noLibrary(library)))
    }
  }

  /// If the condition holds, ends the use of this thread and returns the transfers that are still
  /// waiting; else returns `nil`.
  private func retire(if condition: (borrowing State) -> Bool) -> [CurlTransfer]? {
    state.withLock { state in
      guard condition(state) else { return nil }
      if let thread = state.thread { pthread_detach(thread) }
      state.thread = nil
      unsafe state.multi = nil
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  private func admit(to multi: UnsafeMutableRawPointer, _ running: inout [UInt: CurlTransfer]) {
    let arrived = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for transfer in arrived {
      do {
        let handle = unsafe try transfer.attach(to: multi)
        running[UInt(bitPattern: handle)] = transfer
      } catch {
        transfer.end(.failure(error))
      }
    }
    for (key, transfer) in running where transfer.isCancelled.withLock({ $0 }) {
      running[key] = nil
      unsafe transfer.detach(from: multi)
      transfer.end(.failure(.cancelled))
    }
  }

  private func collect(from multi: UnsafeMutableRawPointer, _ running: inout [UInt: CurlTransfer]) {
    var code = CURLE_OK
    while let handle = unsafe ccurl_multi_next_ended(multi, &code) {
      guard let transfer = running.removeValue(forKey: UInt(bitPattern: handle)) else { continue }
      let result = transfer.result(code)
      unsafe transfer.detach(from: multi)
      transfer.end(result)
    }
  }
}
