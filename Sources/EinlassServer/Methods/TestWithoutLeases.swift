internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

let withoutLeasesName = "test.withoutLeases"

/// `test.withoutLeases`: turns off the accounts' leases. Their tests need it as the negative
/// control.
func testWithoutLeases(_ isWithout: Lock<Bool>) -> Method {
  Method(
    MethodDescriptor(
      withoutLeasesName, .immediate,
      "This process no longer waits for others before it renews. Only with --test.",
      needsTestMode: true),
    .urgent { _, _ throws(RPCError) in
      isWithout.withLock { $0 = true }
      return [:]
    })
}
