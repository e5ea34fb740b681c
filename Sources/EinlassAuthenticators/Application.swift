public import Einlass
internal import EinlassNetwork
internal import EinlassStorage

/// A program that signs people in: its name, its registrations at the providers, and the accounts
/// that it uses.
public struct Application: Sendable {
  /// The program's own name for itself. The person grants access to this name.
  public var name: String
  /// The program's name for people.
  public var title: String?
  /// The registrations, by the providers' ids in the catalogue.
  public var registrations: [String: ClientRegistration]
  public var engine: Einlass

  /// `engine` is `try .systemAccounts()` for the accounts of the person.
  public init(
    _ name: String, title: String? = nil, registrations: [String: ClientRegistration],
    engine: Einlass
  ) {
    self.name = name
    self.title = title
    self.registrations = registrations
    self.engine = engine
  }
}

extension Einlass {
  /// Returns an engine over the accounts of the person, which every program of the person shares,
  /// with the live network.
  ///
  /// Starts no process. The store is opened by its first use. A store whose key is a passphrase
  /// cannot be opened here, because only `einlass` asks for it.
  ///
  /// - Parameter path: The store's file; `nil` for the store of `einlass` and `einlassctl`.
  /// - Throws: `Problem` if the file of the added providers cannot be read, and
  ///   `ProviderCatalog.Fault` if it is no catalogue.
  public static func systemAccounts(at path: String? = nil) throws -> Einlass {
    var catalog = ProviderCatalog.builtIn
    if let added = try SQLiteAccountStore.providerOverlay(path: path).read() {
      catalog = try catalog.adding(json: added).catalog
    }
    return Einlass(
      catalog: catalog, store: SQLiteAccountStore.open(path: path), effects: LiveEffects.make())
  }
}
