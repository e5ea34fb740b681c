/// The providers there are, in the order of `providers.json`.
public struct ProviderCatalog: Sendable {
  /// What is wrong with a descriptor, for whoever wrote it.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The provider's id, where it is known.
    public var provider: String?
    /// A JSON pointer into the document.
    public var pointer: String
    /// What stands there and what should.
    public var explanation: String

    public var description: String { "" }
  }

  public private(set) var providers: [Provider] = []

  /// The catalogue in the binary.
  public static func builtIn() throws(Fault) -> ProviderCatalog { ProviderCatalog() }

  /// Reads and checks a catalogue: strict JSON of the shape of `providers.json`.
  public init(json: [UInt8]) throws(Fault) {}
  init() {}

  /// This catalogue with the other's providers replacing those of the same id, new ones at the end.
  public func overlaid(by other: ProviderCatalog) -> ProviderCatalog { self }

  /// This catalogue with every endpoint at one of the given origins moved to its replacement.
  ///
  /// Both are exact origins (`https://api.example.com`); a plain-http replacement must be a literal loopback address.
  public func relocated(origins: [String: String]) throws(Fault) -> ProviderCatalog { self }

  /// The provider of this id, compared as bytes. Throws `unknownProvider`.
  public func provider(_ id: String) throws(Problem) -> Provider {
    throw Problem(.unknownProvider, "")
  }
}
