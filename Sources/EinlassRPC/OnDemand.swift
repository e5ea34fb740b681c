internal import Synchronization

/// A value that is made at its first use.
public final class OnDemand<Value: Sendable>: Sendable {
  private final class Made: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private let make: @Sendable () -> Value
  private let made = AtomicLazyReference<Made>()

  /// - Parameter make: called once, or twice if two threads ask at the same time.
  public init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  public var value: Value { (made.load() ?? made.storeIfNil(Made(make()))).value }
}
