internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// The catalogue as it stands: the one that the process began with, and what was added since. Other processes see what
/// was added when they start.
final class AddedProviders: Sendable {
  private let overlay: ProviderOverlay
  private let origins: [String: String]
  private let state: Lock<ProviderCatalog>

  /// - Parameter catalog: with what had been added before.
  init(_ overlay: ProviderOverlay, to catalog: ProviderCatalog, origins: [String: String]) {
    self.overlay = overlay
    self.origins = origins
    state = Lock(catalog)
  }

  var catalog: ProviderCatalog { state.withLock { $0 } }

  /// What was added, by whichever process.
  func descriptors() throws(Problem) -> [JSONValue] { Self.descriptors(in: try overlay.read()) }

  /// Whether it is new; one that was added under this id is replaced. Throws `invalidParameter` for an id of the
  /// catalogue's own.
  func add(_ descriptor: JSONValue) throws(Problem) -> Bool {
    let id = descriptor["id"]?.string ?? ""
    var isNew = true
    try change { descriptors throws(Problem) in
      let others = descriptors.filter { !sameBytes($0["id"]?.string ?? "", id) }
      isNew = others.count == descriptors.count
      guard !isNew || !catalog.holds(id) else {
        throw Problem(
          .invalidParameter, "The catalogue has a provider of this id. Give another.", path: "/id")
      }
      return others + [descriptor]
    }
    let added = try catalog(of: [descriptor])
    state.withLock { $0 = $0.overlaid(by: added) }
    return isNew
  }

  /// Throws `unknownProvider` unless it was added.
  func remove(_ id: String) throws(Problem) {
    try change { descriptors throws(Problem) in
      let others = descriptors.filter { !sameBytes($0["id"]?.string ?? "", id) }
      guard others.count < descriptors.count else {
        throw Problem(
          .unknownProvider, "No provider of this id was added. The catalogue's own stay.",
          hint: .init("providers.list"))
      }
      return others
    }
    state.withLock { $0 = $0.without(id) }
  }

  private func change(
    _ edit: ([JSONValue]) throws(Problem) -> [JSONValue]
  ) throws(Problem) {
    try overlay.change { text throws(Problem) in
      Self.text(of: try edit(Self.descriptors(in: text)))
    }
  }

  private static func descriptors(in text: [UInt8]?) -> [JSONValue] {
    text.flatMap { try? JSONReader.read($0)["providers"]?.array } ?? []
  }

  private func catalog(of descriptors: [JSONValue]) throws(Problem) -> ProviderCatalog {
    do throws(ProviderCatalog.Fault) {
      return try ProviderCatalog(json: Self.text(of: descriptors), models: catalog).relocated(
        origins: origins)
    } catch { throw Problem(.invalidParameter, error.explanation, path: error.pointer) }
  }

  private static func text(of descriptors: [JSONValue]) -> [UInt8] {
    JSONValue.object(["providers": .array(descriptors)]).bytes()
  }
}
