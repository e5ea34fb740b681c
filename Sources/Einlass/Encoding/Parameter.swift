/// A name and its value, neither encoded. Lists of them keep order and duplicates, which RFC 5849 signs.
public struct Parameter: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
