/// A name and its value, not encoded. Lists of parameters keep order and duplicates, because RFC
/// 5849 signs both.
public struct Parameter: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
