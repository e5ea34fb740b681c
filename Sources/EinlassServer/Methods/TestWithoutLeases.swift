internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// `test.withoutLeases`: turns off the accounts' leases. Their tests need it as the negative
/// control.
func testWithoutLeases(_ isWithout: Lock<Bool>) -> Method {
  Method(
    MethodDescriptor(
      "test.withoutLeases", .immediate,
      "This process no longer waits for others before it renews. Only with --test.",
      needsTestMode: true),
    .urgent { _, _ throws(RPCError) in
      isWithout.withLock { $0 = true }
      return [:]
    })
}
