internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// The catalogue as it stands: the one that the process began with, and what was added since. Other processes see what
/// was added when they start.
final class AddedProviders: Sendable {
  /// The most bytes of all descriptors, which are read whole at each start.
  private static let limitBytes = 1 << 20

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
  func descriptors() throws(Problem) -> [JSONValue] {
    try Self.descriptors(in: overlay.read())
  }

  /// The id that it has now, and whether it is new; one that was added under this id is replaced. Throws
  /// `invalidParameter` for an id of the catalogue's own.
  ///
  /// - Parameter isNamed: whether somebody has chosen the id; if not, it gives way to another issuer's. What other
  ///   processes have added counts.
  func add(
    _ descriptor: JSONValue, isNamed: Bool
  ) throws(Problem) -> (id: String, isNew: Bool) {
    var descriptor = descriptor
    var id = ""
    var isNew = true
    try change { descriptors throws(Problem) in
      if !isNamed {
        descriptor = descriptor.renamed(beside: descriptors) { catalog.holdsItself($0) }
      }
      id = descriptor["id"]?.string ?? ""
      isNew = !descriptors.contains { sameBytes($0["id"]?.string ?? "", id) }
      guard !isNew || !catalog.holdsItself(id) else {
        throw Problem(
          .invalidParameter, "The catalogue has a provider of this id. Give another.", path: "/id")
      }
      // Where it stood: what is like it stands behind it.
      return isNew
        ? descriptors + [descriptor]
        : descriptors.map { sameBytes($0["id"]?.string ?? "", id) ? descriptor : $0 }
    }
    let added = try catalog(of: [descriptor])
    state.withLock { $0 = $0.adding(added) }
    return (id, isNew)
  }

  /// Adds it unless one was added under this id, by whichever process: that one is taken then. Whether it is new.
  func addUnlessThere(_ descriptor: JSONValue) throws(Problem) -> Bool {
    var found = descriptor
    var isNew = true
    let id = descriptor["id"]?.string ?? ""
    try change { descriptors throws(Problem) in
      guard let there = descriptors.first(where: { sameBytes($0["id"]?.string ?? "", id) }) else {
        return descriptors + [descriptor]
      }
      (found, isNew) = (there, false)
      return descriptors
    }
    let added = try catalog(of: [found])
    state.withLock { $0 = $0.adding(added) }
    return isNew
  }

  /// Takes back what was added, unless somebody has changed it since.
  func withdraw(_ descriptor: JSONValue) throws(Problem) {
    try change { descriptors throws(Problem) in
      descriptors.filter { $0.bytes() != descriptor.bytes() }
    }
    state.withLock { $0 = $0.without(descriptor["id"]?.string ?? "") }
  }

  /// Throws `unknownProvider` unless it was added.
  ///
  /// - Parameter forget: forgets what is stored for this id, before the provider goes: what fails can be tried again. Not
  ///   asked where the catalogue has a provider of this id itself.
  func remove(
    _ id: String, forgetting forget: (String) throws(Problem) -> Void
  ) throws(Problem) {
    try change { descriptors throws(Problem) in
      let others = descriptors.filter { !sameBytes($0["id"]?.string ?? "", id) }
      guard others.count < descriptors.count else {
        throw Problem(
          .unknownProvider, "No provider of this id was added. The catalogue's own stay.",
          hint: .init("providers.list"))
      }
      if !catalog.holdsItself(id) { try forget(id) }
      return others
    }
    state.withLock { $0 = $0.without(id) }
  }

  /// Writes down that a provider has refused to register the application, for `doctor` and `providers.list`. Where
  /// that can't be written, it is not known later.
  func note(_ refusal: Problem) {
    guard refusal.detail == Problem.selfRegistration, !refusal.isRetryable,
      let id = refusal.provider
    else { return }
    setRefusal(refusal.message, of: id)
  }

  /// Forgets that a provider has refused to register the application, so that `doctor` counts on the next attempt.
  func forgetRefusal(of id: String) {
    if !catalog.holdsItself(id) { setRefusal(nil, of: id) }
  }

  private func setRefusal(_ sentence: String?, of id: String) {
    var changed: JSONValue?
    try? change { descriptors throws(Problem) in
      descriptors.map { descriptor in
        guard sameBytes(descriptor["id"]?.string ?? "", id), var object = descriptor.object,
          var offer = object["dynamicRegistration"]?.object
        else { return descriptor }
        offer["refused"] = sentence.map(JSONValue.string)
        object["dynamicRegistration"] = .object(offer)
        changed = .object(object)
        return .object(object)
      }
    }
    guard let changed, let added = try? catalog(of: [changed]) else { return }
    state.withLock { $0 = $0.adding(added) }
  }

  private func change(
    _ edit: ([JSONValue]) throws(Problem) -> [JSONValue]
  ) throws(Problem) {
    try overlay.change { text throws(Problem) in
      let edited = Self.text(of: try edit(Self.descriptors(in: text)))
      guard edited.count <= Self.limitBytes else { throw .tooManyProviders }
      return edited
    }
  }

  /// Nothing that is there is written over unread.
  private static func descriptors(in text: [UInt8]?) throws(Problem) -> [JSONValue] {
    guard let text else { return [] }
    guard let descriptors = try? JSONReader.read(text)["providers"]?.array else {
      throw .damagedProviders
    }
    return descriptors
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

extension Problem {
  fileprivate static let damagedProviders = Problem.store(
    .corrupt,
    "The file of added providers beside the store is damaged. Put back a copy of it, or move it away and add them again."
  )

  fileprivate static let tooManyProviders = Problem(
    .invalidParameter, "There is no room for another provider. Remove some with providers.remove.")
}
