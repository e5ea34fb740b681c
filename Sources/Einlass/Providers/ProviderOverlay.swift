/// The descriptors that the person has added, as the server sees them: closures that `EinlassStorage` fills, from a file
/// beside the store or from memory. The text has the form of `providers.json`.
public struct ProviderOverlay: Sendable {
  /// The text; `nil` while nothing was added.
  public var read: @Sendable () throws(Problem) -> [UInt8]?
  /// Puts what the closure makes of the text in its place, while no other process does.
  public var change:
    @Sendable (_ edit: ([UInt8]?) throws(Problem) -> [UInt8]) throws(Problem) -> Void

  /// What the file is called: its faults are not those of its folder, which the store is in too. `nil`: there is none.
  public var fileName: String?

  public init(
    fileName: String? = nil,
    read: @escaping @Sendable () throws(Problem) -> [UInt8]?,
    change: @escaping @Sendable (([UInt8]?) throws(Problem) -> [UInt8]) throws(Problem) -> Void
  ) {
    self.fileName = fileName
    self.read = read
    self.change = change
  }
}
