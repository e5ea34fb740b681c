import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation

typealias Method = EinlassRPC.Method

let echo = Method(
  MethodDescriptor("echo", .immediate, "", result: .any),
  .immediate { params, _, _ in .object(params) })

/// A method with named parameters. Positional parameters are always refused.
let subtract = Method(
  MethodDescriptor(
    "subtract", .immediate, "",
    params: [.required("minuend", .integer(), ""), .required("subtrahend", .integer(), "")],
    result: .integer()),
  .immediate { params, _, _ in
    JSONValue((params["minuend"]?.int64 ?? 0) - (params["subtrahend"]?.int64 ?? 0))
  })

/// A gate that holds tasks and threads until the test opens it.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var arrivedCount = 0
  }
  private let state = Lock(State())
  private let threads = DispatchSemaphore(value: 0)
  private let arrivals = DispatchSemaphore(value: 0)

  /// Waits for the gate. Returns at once if the task is cancelled.
  func wait(ignoringCancellation: Bool = false) async {
    let number = state.withLock { state in
      state.arrivedCount += 1
      return state.arrivedCount
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          if state.isOpen || (Task.isCancelled && !ignoringCancellation) { return true }
          state.waiters[number] = continuation
          return false
        }
        arrivals.signal()
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      if !ignoringCancellation {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
      }
    }
  }

  /// Blocks the calling thread until the gate opens.
  func block() {
    arrivals.signal()
    threads.wait()
  }

  /// Waits until this many tasks or threads have arrived at the gate.
  func awaitArrivals(_ count: Int = 1) throws {
    for _ in 0..<count {
      guard arrivals.wait(timeout: .now() + 60) == .success else { throw Session.Silence() }
    }
  }

  func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
    threads.signal()
  }
}

/// A task that answers when the gate opens or the task is cancelled.
func waiting(
  _ name: String = "wait", _ methodClass: MethodClass = .network, at gate: Gate,
  ignoringCancellation: Bool = false
) -> Method {
  Method(
    MethodDescriptor(name, methodClass, "", result: .any),
    .task { _, _ async throws(RPCError) in
      await gate.wait(ignoringCancellation: ignoringCancellation)
      if Task.isCancelled && !ignoringCancellation { throw RPCError(.internal) }
      return "done"
    })
}

/// An immediate method that waits at the gate, as for a store that another process has locked.
func storing(at gate: Gate) -> Method {
  Method(
    MethodDescriptor("store", .immediate, "", result: .any),
    .immediate { _, _, deadline in
      guard deadline != nil else { return nil }
      gate.block()
      return "stored"
    })
}

/// Returns a method whose answers to ids of two digits have this number of bytes.
func large(_ byteCount: Int) -> Method {
  let frame = #"{"jsonrpc":"2.0","id":10,"result":""}"#
  let text = String(repeating: "x", count: byteCount - frame.utf8.count)
  return Method(
    MethodDescriptor("large", .immediate, "", result: .any, isLineLimited: false),
    .immediate { _, _, _ in .string(text) })
}
