internal import EinlassJSON
internal import EinlassRPC

/// `test.advanceClock`: moves the clock of a process started with `--test`.
func testAdvanceClock(_ advance: @escaping @Sendable (Int64) -> Void) -> Method {
  Method(
    MethodDescriptor(
      "test.advanceClock", .immediate,
      "Moves this process's clock and wakes its timers. Only with --test.",
      params: fields(seconds),
      needsTestMode: true),
    .urgent { params, _ throws(RPCError) in
      advance(params[seconds])
      return [:]
    })
}

private let seconds = TypedField.required(
  "seconds", .integer(0...315_360_000), "The number of seconds.")
