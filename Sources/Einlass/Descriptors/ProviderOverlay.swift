/// The descriptors that the person has added: closures filled by `EinlassStorage`, from a file
/// beside the store or from memory. The text has the form of `providers.json`.
public struct ProviderOverlay: Sendable {
  /// The text; `nil` while nothing was added.
  public var read: @Sendable () throws(Problem) -> [UInt8]?
  /// Replaces the text with the closure's result, while other processes are locked out.
  public var change:
    @Sendable (_ edit: ([UInt8]?) throws(Problem) -> [UInt8]) throws(Problem) -> Void

  /// Returns a value that differs after each change by any process. Must be quick.
  public var stamp: @Sendable () -> [Int64]

  /// The file's name, which separates its faults from those of the store in the same folder; `nil`
  /// without a file.
  public var fileName: String?

  public init(
    fileName: String? = nil, stamp: @escaping @Sendable () -> [Int64] = { [] },
    read: @escaping @Sendable () throws(Problem) -> [UInt8]?,
    change: @escaping @Sendable (([UInt8]?) throws(Problem) -> [UInt8]) throws(Problem) -> Void
  ) {
    self.fileName = fileName
    self.stamp = stamp
    self.read = read
    self.change = change
  }
}
