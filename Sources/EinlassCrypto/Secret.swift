/// Bytes that can be neither printed nor encoded, and are wiped when the last reference goes.
public final class Secret: Sendable {
  private let bytes: [UInt8]

  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  public convenience init(_ text: String) { self.init(Array(text.utf8)) }

  /// The bytes themselves. The tidy test lists the files that may call it.
  public func reveal() -> [UInt8] { bytes }
}

extension Secret: Equatable {
  public static func == (left: Secret, right: Secret) -> Bool { left.bytes == right.bytes }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "«redacted»" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
