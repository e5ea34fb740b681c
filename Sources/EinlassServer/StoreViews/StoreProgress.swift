internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

extension Server {
  /// Runs long work on the store for a request. It announces each new percent of progress. The work
  /// ends without a change when the request is cancelled.
  func maintain<Result>(
    _ method: String, for call: Call,
    _ body: (StoreMaintenance, StoreMaintenance.Progress) throws(Problem) -> Result
  ) throws(RPCError) -> Result {
    let last = Lock<Int?>(nil)
    do throws(Problem) {
      return try body(store.maintenance) { [announcer] done, total throws(Problem) in
        if Task.isCancelled { throw Problem(.cancelled, "The work on the store was cancelled.") }
        let percent = total == 0 ? 100 : done * 100 / total
        let isNew = last.withLock { last in
          defer { last = percent }
          return last != percent
        }
        guard isNew, call.id != nil else { return }
        announcer.announce(
          "store.progress",
          [
            "request": call.wireID, "method": .string(method), "done": JSONValue(Int64(done)),
            "total": JSONValue(Int64(total)),
          ])
      }
    } catch { throw RPCError(error) }
  }
}
