/// Start here: the engine as a program sees it. Values in, values out; what it cannot compute is in `Effects`.
public struct Einlass: Sendable {
  public let catalog: ProviderCatalog
  public let store: AccountStore
  public let effects: Effects

  public init(catalog: ProviderCatalog, store: AccountStore, effects: Effects) {
    self.catalog = catalog
    self.store = store
    self.effects = effects
  }

  /// Signs in with a stored account: access, selection, the provider's flow, and saves what came of it.
  public func perform(_ request: PerformRequest, asking asker: Asker) async throws(Problem)
    -> PerformResult
  {
    throw Problem(.internal, "Not built yet.")
  }

  /// Asks the provider whether a credential is what it seems. A bad credential is a result, not an error.
  public func verify(_ request: VerifyRequest) async throws(Problem) -> Verification {
    throw Problem(.internal, "Not built yet.")
  }

  /// The value of an `Authorization` header for a request of the front end's own.
  public func sign(_ request: SignRequest) throws(Problem) -> String {
    throw Problem(.internal, "Not built yet.")
  }

  /// Stores an account that the front end brings along, bound to where its provider lives now.
  ///
  /// Throws `unknownProvider`, `invalidParameter`, `accountExists` and what the store throws.
  public func addAccount(_ request: AddAccountRequest, patience: AccountStore.Patience)
    throws(Problem) -> AccountStore.Added
  {
    throw Problem(.internal, "Not built yet.")
  }
}
