/// A member behind one reference, so that a copy of its owner copies eight bytes. A change makes a
/// new reference.
@propertyWrapper
public struct Indirect<Value: Sendable>: Sendable {
  private final class Storage: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private var storage: Storage

  public init(wrappedValue: Value) { storage = Storage(wrappedValue) }

  public var wrappedValue: Value {
    get { storage.value }
    set { storage = Storage(newValue) }
  }
}

extension Indirect: Equatable where Value: Equatable {
  public static func == (left: Indirect, right: Indirect) -> Bool {
    left.storage === right.storage || left.storage.value == right.storage.value
  }
}
