internal import EinlassJSON
internal import EinlassSystem

/// The order of a message to the event loop.
enum Ending {
  /// End, answer this, and go on refusing requests for a moment.
  case shutdown(RequestTable.Ticket?)
  /// End, and answer this.
  case exit(RequestTable.Ticket?)
}

/// The way of a message to its handler, on the event loop's thread and in order of arrival.
extension Peer {
  /// Dispatches one message. Each request in it is answered now or later.
  func dispatch(_ message: Message) -> Ending? {
    guard case .batch(let entries) = message else { return dispatch(message, place: .line) }
    let batch = Batch(count: entries.count(where: \.isAnswered), countingIn: heldBytes)
    var ending: Ending?
    var index = 0
    for entry in entries {
      ending = dispatch(entry, place: .batch(batch, index)) ?? ending
      if entry.isAnswered { index += 1 }
    }
    return ending
  }

  private func dispatch(_ message: Message, place: Place) -> Ending? {
    switch message {
    case .request(let request): return dispatch(request, place: place)
    case .refusal(let error, let id): refuse(error, id: id, place: place)
    case .response, .batch: options.log.debug("rpc", "ignored a response: einlass sent no request")
    }
    return nil
  }

  private func dispatch(_ request: Message.Request, place: Place) -> Ending? {
    let method = methods[request.method].flatMap { found in
      sameBytes(found.descriptor.name, request.method) ? found : nil
    }
    trace(request, method)
    do throws(RPCError) {
      // After `shutdown` this is the only request that is accepted.
      let isExit = method?.lifecycle == .exit
      let admission = isExit ? Admission() : try admit(request.id)
      guard let method else { throw unknownMethod(request.method) }
      if case .batch = place {
        guard method.descriptor.isBatchable else { throw RPCError(.notBatchable) }
        guard heldBytes.withLock({ $0 }) <= options.heldAnswerBytes else {
          throw RPCError(.overloaded)
        }
      }
      if request.hasPositionalParams { throw RPCError(.positionalParams) }
      var request = request
      request.params = method.descriptor.withoutNulls(
        request.params, components: options.components)
      try method.descriptor.validate(request.params, components: options.components)
      request.params = method.preparing(request.params)
      let ticket = request.id.map {
        RequestTable.Ticket(id: $0, method: method, place: place)
      }
      if let lifecycle = method.lifecycle { return handle(lifecycle, request, ticket) }
      try options.gate?(method.descriptor.name, request.params)
      try start(request, method, ticket, admission)
    } catch {
      guard request.id == nil else {
        let isDuplicate = error.reason == RPCError.Standard.duplicateId.rawValue
        refuse(error, id: isDuplicate ? nil : request.id, place: place)
        return nil
      }
      options.log.debug("rpc", "ignored a notification: \(error.reason)")
    }
    return nil
  }

  private func unknownMethod(_ name: String) -> RPCError {
    // A name may be as long as a line, so the error repeats only its beginning.
    RPCError(.unknownMethod, data: ["method": .string(String(name.unicodeScalars.prefix(100)))])
  }

  private func handle(
    _ lifecycle: Lifecycle, _ request: Message.Request, _ ticket: RequestTable.Ticket?
  ) -> Ending? {
    switch lifecycle {
    case .shutdown: return .shutdown(ticket)
    case .exit: return .exit(ticket)
    case .cancelRequest:
      if let id = request.params["id"].flatMap({ RequestID($0) }) { cancel(id, by: "client") }
      // This is a notification, but a client that gave it an id waits for an answer.
      if let ticket { answer(ticket, .success([:])) }
      return nil
    }
  }
}

// MARK: - Starting

extension Peer {
  /// The state of the connection at the arrival of a request.
  private struct Admission {
    var isFirstRequest = false
    /// Earlier immediate requests are waiting.
    var mustWait = false
  }

  private func admit(_ id: RequestID?) throws(RPCError) -> Admission {
    try requests.withLock { table throws(RPCError) in
      guard table.phase != .draining else { throw RPCError(.shuttingDown) }
      if let id, table.serial(of: id) != nil { throw RPCError(.duplicateId) }
      let isFirst = id != nil && !table.hasSeenRequest
      if id != nil { table.hasSeenRequest = true }
      return Admission(isFirstRequest: isFirst, mustWait: table.hasWaiting)
    }
  }

  private func start(
    _ request: Message.Request, _ method: RegisteredMethod, _ ticket: RequestTable.Ticket?,
    _ admission: Admission
  ) throws(RPCError) {
    let params = request.params
    let call = Call(
      id: request.id, isFirstRequest: admission.isFirstRequest, peer: self, ticket: ticket)
    switch method.handler {
    case .urgent(let handle):
      finish(ticket) { () throws(RPCError) in try handle(params, call) }
    case .immediate(let handle):
      try startImmediate(request, call, mustWait: admission.mustWait, handle) {
        _ throws(RPCError) in
        throw RPCError(.internal)
      }
    case .immediateOrTask(let handle, let otherwise):
      try startImmediate(request, call, mustWait: admission.mustWait, handle) {
        serial throws(RPCError) in
        try self.startTask(request, method, call, otherwise, insteadOf: serial)
      }
    case .task(let handle): try startTask(request, method, call, handle)
    case .taskUnlessReady(let attempt, let handle):
      if finishIfReady(ticket, { () throws(RPCError) in try attempt(params, call) }) { return }
      try startTask(request, method, call, handle)
    }
  }

  /// Answers at once, or from the waiting thread. A request without an answer there goes to
  /// `otherwise`.
  private func startImmediate(
    _ request: Message.Request, _ call: Call, mustWait: Bool,
    _ handle:
      @escaping @Sendable (JSONObject, Call, Deadline?) throws(RPCError) -> JSONValue?,
    otherwise: @escaping @Sendable (_ serial: Int) throws(RPCError) -> Void
  ) throws(RPCError) {
    let isDone =
      !mustWait
      && finishIfReady(call.ticket) { () throws(RPCError) in
        try handle(request.params, call, nil)
      }
    if isDone { return }
    let wait = Limits.immediateWaitMilliseconds
    let own = Deadline(milliseconds: wait)
    try self.wait(call.ticket, request.byteCount) { serial throws(RPCError) in
      let deadline = max(own, self.requests.withLock { $0.lineDeadline })
      let left = deadline.millisecondsLeft
      let result = try handle(request.params, call, deadline)
      // A wait that ended with a turn shows that the queue moves.
      let waited = left - deadline.millisecondsLeft
      if left > 0, waited >= min(left, Limits.noticedWaitMilliseconds) {
        self.requests.withLock { $0.lineDeadline = Deadline(milliseconds: wait) }
      }
      if let result { return result }
      try otherwise(serial)
      return nil
    }
  }

  /// - Parameter waiting: the serial number of the immediate request whose place the task takes.
  private func startTask(
    _ request: Message.Request, _ method: RegisteredMethod, _ call: Call,
    _ handle: @escaping @Sendable (JSONObject, Call) async throws(RPCError) -> JSONValue,
    insteadOf waiting: Int? = nil
  ) throws(RPCError) {
    let isFlow = method.descriptor.methodClass == .interactive
    do throws(SystemError) { try threads.start() } catch {
      throw RPCError(.internal, "The request cannot begin, because \(error.explanation).")
    }
    try requests.withLock { table throws(RPCError) in
      if let waiting {
        guard table.phase != .draining else { throw .cancelled(by: table.drainedBy) }
        guard table.remove(waiting) != nil else { return }
      }
      try table.addTask(call.ticket, isFlow: isFlow, byteCount: request.byteCount) { serial in
        let call = call.running(as: serial)
        return self.startTask(serial) { () async throws(RPCError) in
          try await handle(request.params, call)
        }
      }
    }
  }

  /// Returns whether the attempt has answered the request; `nil` is no answer.
  private func finishIfReady(
    _ ticket: RequestTable.Ticket?, _ attempt: () throws(RPCError) -> JSONValue?
  ) -> Bool {
    do throws(RPCError) {
      guard let result = try attempt() else { return false }
      if let ticket { answer(ticket, .success(result)) }
    } catch {
      if let ticket { answer(ticket, .failure(error)) }
    }
    return true
  }

  private func finish(
    _ ticket: RequestTable.Ticket?, _ work: () throws(RPCError) -> JSONValue
  ) {
    let outcome = Outcome(catching: work)
    if let ticket { answer(ticket, outcome) }
  }

  /// Queues work for the waiting thread and starts the thread if needed. A result of `nil` is no
  /// answer.
  private func wait(
    _ ticket: RequestTable.Ticket?, _ byteCount: Int,
    _ work: @escaping @Sendable (_ serial: Int) throws(RPCError) -> JSONValue?
  ) throws(RPCError) {
    let needsThread = try requests.withLock { table throws(RPCError) in
      let serial = try table.addWaiting(ticket, byteCount: byteCount)
      table.waitingWork.append {
        guard self.requests.withLock({ $0.contains(serial) }) else { return }
        do throws(RPCError) {
          // Without an answer the request goes on as a task.
          if let result = try work(serial) { self.end(serial, .success(result)) }
        } catch {
          self.end(serial, .failure(error))
        }
      }
      defer { table.hasWaitingThread = true }
      return !table.hasWaitingThread
    }
    guard needsThread else { return }
    do { try WorkThread.start("einlass-wait") { self.runWaitingWork() } } catch {
      // A free task thread takes over. Without task threads the event loop itself waits.
      guard let executor = startedExecutor else { return runWaitingWork() }
      Task.detached(executorPreference: executor) { self.runWaitingWork() }
    }
  }

  private func runWaitingWork() {
    while true {
      let work = requests.withLock { table -> (@Sendable () -> Void)? in
        table.hasWaitingThread = !table.waitingWork.isEmpty
        return table.waitingWork.isEmpty ? nil : table.waitingWork.removeFirst()
      }
      guard let work else { return }
      work()
    }
  }

  private func startTask(
    _ serial: Int, _ work: @escaping @Sendable () async throws(RPCError) -> JSONValue
  ) -> RequestTable.Cancel {
    let task = Task.detached(executorPreference: executor) {
      do throws(RPCError) {
        self.end(serial, .success(try await work()))
      } catch {
        self.end(serial, .failure(error))
      }
    }
    return { task.cancel() }
  }
}
