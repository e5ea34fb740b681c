internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// The kinds of change of a provider, by their names in the protocol.
enum ProviderChange: String, CaseIterable {
  case added, updated, removed
  /// Its registration was added, replaced or removed.
  case configured
}

/// The current catalogue: the one of the process start, and the providers that any process has added
/// since.
final class AddedProviders: Sendable {
  /// The id of a provider, and its change.
  typealias Change = (provider: String, change: ProviderChange)

  /// The limit on all added descriptors together in bytes, because each start reads them whole.
  private static let limitBytes = 1 << 20

  private let overlay: ProviderOverlay
  private let origins: [String: String]
  private let announce: @Sendable ([Change]) -> Void
  private let state: Lock<ProviderCatalog>
  private let known: Lock<Known>

  /// The running sign-ins at a provider.
  private struct SignIns {
    var count = 0
    /// The descriptor that was added for the first one; `nil` once an account is there.
    var placed: JSONValue?
  }
  private let signIns = Lock<[String: SignIns]>([:])

  /// Notes a sign-in that begins. `placed` is the descriptor that was added for it.
  func enter(_ id: String, _ placed: JSONValue?) {
    signIns.withLock {
      $0[id, default: SignIns()].count += 1
      if let placed { $0[id]?.placed = placed }
    }
  }

  /// Notes the end of a sign-in. Returns the descriptor that was added for sign-ins that have all
  /// failed.
  func leave(_ id: String, signedIn: Bool) -> JSONValue? {
    signIns.withLock {
      guard var running = $0[id] else { return nil }
      running.count -= 1
      if signedIn { running.placed = nil }
      $0[id] = running.count == 0 ? nil : running
      return running.count == 0 ? running.placed : nil
    }
  }

  /// The file as it was last read.
  private struct Known {
    var text: [UInt8]?
    /// The ids of its descriptors that can be read.
    var ids: Set<String>
    /// `nil` before the first look, and after a change by this process.
    var stamp: [Int64]?
    /// The number of unfinished changes by this process.
    var ownChanges = 0
    /// Whether another process may have changed the file since.
    var isStale = false
  }

  /// - Parameters:
  ///   - catalog: The catalogue, with the providers that were added before.
  ///   - text: The text of the file that these were read from.
  ///   - announce: Receives the changes by any process.
  init(
    _ overlay: ProviderOverlay, to catalog: ProviderCatalog, of text: [UInt8]? = nil,
    origins: [String: String],
    announce: @escaping @Sendable ([Change]) -> Void = { _ in }
  ) {
    self.overlay = overlay
    self.origins = origins
    self.announce = announce
    state = Lock(catalog)
    known = Lock(Known(text: text, ids: catalog.addedIDs))
  }

  var catalog: ProviderCatalog {
    if known.withLock({ $0.isStale }) { refresh() }
    return state.withLock { $0 }
  }

  /// Has the next use of the catalogue look for changes by other processes. Most requests do not use
  /// it, and a look costs a fifth of a short round trip.
  func refreshBeforeUse() { known.withLock { $0.isStale = true } }

  /// Takes over the changes by all processes, and announces them. A file that cannot be read changes
  /// nothing, and a descriptor that cannot be read is left out.
  func refresh() {
    let changes = known.withLock { known -> [Change] in
      known.isStale = false
      // A change by this process may use the catalogue. It is followed by a look of its own.
      guard known.ownChanges == 0 else { return [] }
      let stamp = overlay.stamp()
      guard stamp != known.stamp, let text = try? overlay.read() ?? [] else { return [] }
      known.stamp = stamp
      let former = known.text ?? []
      guard text != former, let moved = try? catalog(adding: text) else { return [] }
      known.text = text
      let old = known.ids
      known.ids = moved.addedIDs
      state.withLock { $0 = moved }
      return Self.changes(from: (old, former), to: (moved.addedIDs, text))
    }
    announce(changes)
  }

  /// Returns the changes from one state of the file to another. A state has the ids that can be
  /// read, and the text.
  private static func changes(
    from old: (ids: Set<String>, text: [UInt8]), to new: (ids: Set<String>, text: [UInt8])
  ) -> [Change] {
    func descriptor(_ id: String, in text: [UInt8]) -> [UInt8]? {
      try? descriptors(in: text).first { sameBytes($0["id"]?.string ?? "", id) }?.bytes()
    }
    return old.ids.subtracting(new.ids).sorted().map { ($0, .removed) }
      + new.ids.sorted().compactMap { id in
        guard old.ids.contains(id) else { return (id, .added) }
        return descriptor(id, in: old.text) == descriptor(id, in: new.text) ? nil : (id, .updated)
      }
  }

  /// Returns the added descriptors, including those of other processes.
  func descriptors() throws(Problem) -> [JSONValue] {
    try Self.descriptors(in: overlay.read())
  }

  /// Adds a provider, or replaces the added one of the same id. Returns the id and whether it is
  /// new. Throws `invalidParameter` for an id or alias of the catalogue itself.
  ///
  /// - Parameter isNamed: Whether the caller chose the id. An id that was derived is changed if
  ///   another issuer has it, in this process or in another one, because `a_b` and `a-b` look alike
  ///   in an id.
  func add(
    _ descriptor: JSONValue, isNamed: Bool
  ) throws(Problem) -> (id: String, isNew: Bool) {
    var descriptor = descriptor
    var id = ""
    var isNew = true
    try change { descriptors throws(Problem) in
      if !isNamed {
        descriptor = descriptor.renamed(beside: descriptors) { catalog.isTaken($0) }
      }
      id = descriptor["id"]?.string ?? ""
      isNew = !descriptors.contains { sameBytes($0["id"]?.string ?? "", id) }
      guard !isNew || !catalog.isTaken(id) else { throw .takenID }
      // Replace it in place: providers that inherit from it (`like`) must come after it.
      return isNew
        ? descriptors + [descriptor]
        : descriptors.map { sameBytes($0["id"]?.string ?? "", id) ? descriptor : $0 }
    }
    let added = try catalog(of: [descriptor])
    state.withLock { $0 = $0.adding(added) }
    return (id, isNew)
  }

  /// Adds a provider, or takes the existing one if any process has added this id before. Returns
  /// whether the provider is new.
  func addIfMissing(_ descriptor: JSONValue) throws(Problem) -> Bool {
    var found = descriptor
    var isNew = true
    let id = descriptor["id"]?.string ?? ""
    try change { descriptors throws(Problem) in
      guard let there = descriptors.first(where: { sameBytes($0["id"]?.string ?? "", id) }) else {
        guard catalog.holdsItself(id) || !catalog.isTaken(id) else { throw .takenID }
        return descriptors + [descriptor]
      }
      (found, isNew) = (there, false)
      return descriptors
    }
    let added = try catalog(of: [found])
    state.withLock { $0 = $0.adding(added) }
    return isNew
  }

  /// Adds the provider at a server that a person has named, unless it was added before. Returns its
  /// id, and its descriptor if it is new. Throws `invalidParameter` for a server of another provider.
  func place(_ placed: PlacedProvider) throws(Problem) -> (id: String, new: JSONValue?) {
    refresh()
    var found = placed.descriptor
    var isNew = true
    try change { descriptors throws(Problem) in
      if let there = descriptors.first(where: placed.isSame) {
        (found, isNew) = (there, false)
        return descriptors
      }
      // Another process may have added one since the look.
      let catalog: ProviderCatalog
      let text = descriptors.isEmpty ? [] : Self.text(of: descriptors)
      do { catalog = try self.catalog(adding: text) } catch {
        throw .damagedProviders
      }
      let isTaken = { (id: String) in catalog.holds(id) || catalog.isTaken(id) }
      found = placed.named(isTaken)
      guard !isTaken(found["id"]?.string ?? "") else { throw .takenID }
      guard let provider = try self.catalog(of: [found]).providers.first,
        let other = catalog.neighbour(of: provider)
      else { return descriptors + [found] }
      throw .serverTaken(found["name"]?.string ?? "", by: other)
    }
    let added = try catalog(of: [found])
    state.withLock { $0 = $0.adding(added) }
    return (found["id"]?.string ?? "", isNew ? found : nil)
  }

  /// Removes an added provider, unless its stored descriptor has changed since.
  func withdraw(_ descriptor: JSONValue) throws(Problem) {
    let id = descriptor["id"]?.string ?? ""
    var changed: [JSONValue] = []
    try change { descriptors throws(Problem) in
      let others = descriptors.filter { $0.bytes() != descriptor.bytes() }
      changed = others.filter { sameBytes($0["id"]?.string ?? "", id) }
      return others
    }
    let replacement = try catalog(of: changed)
    state.withLock { $0 = $0.withoutAdded(id).adding(replacement) }
  }

  /// Removes an added provider. Throws `unknownProvider` if none has this id, and `invalidParameter`
  /// while another inherits from it.
  ///
  /// - Parameter forget: Removes the data stored for this id. It runs before the provider is
  ///   removed, so that a failed removal can be tried again. It does not run if the catalogue has a
  ///   provider of this id itself.
  func remove(
    _ id: String, forgetting forget: (String) throws(Problem) -> Void
  ) throws(Problem) {
    try change { descriptors throws(Problem) in
      let others = descriptors.filter { !sameBytes($0["id"]?.string ?? "", id) }
      guard others.count < descriptors.count else {
        throw Problem(
          .unknownProvider,
          "No provider with this id was added, and those of the catalogue cannot be removed.",
          hint: .init("providers.list"))
      }
      if !catalog.withoutAdded(id).holds(id) {
        if let other = others.first(where: { sameBytes($0["like"]?.string ?? "", id) }) {
          throw .inherited(id, by: other["id"]?.string ?? "")
        }
        try forget(id)
      }
      return others
    }
    state.withLock { $0 = $0.withoutAdded(id) }
  }

  /// Stores that a provider refused to register the application, for `doctor` and `providers.list`.
  /// A failure to store it is ignored.
  func note(_ refusal: Problem) {
    guard refusal.detail == Problem.selfRegistration, !refusal.isRetryable,
      let id = refusal.provider
    else { return }
    setRefusal(refusal.message, of: id)
  }

  /// Removes the stored refusal of a provider, so that `doctor` expects the next registration to
  /// succeed.
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
    known.withLock { $0.ownChanges += 1 }
    defer {
      known.withLock { known in
        known.ownChanges -= 1
        known.stamp = nil
      }
      refresh()
    }
    try overlay.change { text throws(Problem) in
      let edited = Self.text(of: try edit(Self.descriptors(in: text)))
      guard edited.count <= Self.limitBytes else { throw .descriptorsTooLong }
      return edited
    }
  }

  /// Throws for a damaged file instead of returning an empty list, so that no change overwrites it.
  private static func descriptors(in text: [UInt8]?) throws(Problem) -> [JSONValue] {
    guard let text, !text.isEmpty else { return [] }
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

  /// Returns the catalogue with the added descriptors of this file alone.
  private func catalog(adding text: [UInt8]) throws(ProviderCatalog.Fault) -> ProviderCatalog {
    let own = state.withLock(\.withoutAdded)
    return try (text.isEmpty ? own : own.adding(json: text).catalog).relocated(origins: origins)
  }

  private static func text(of descriptors: [JSONValue]) -> [UInt8] {
    JSONValue.object(["providers": .array(descriptors)]).bytes()
  }
}

extension Problem {
  fileprivate static let takenID = Problem(
    .invalidParameter, "The catalogue has a provider with this id or alias.",
    path: "/id")

  fileprivate static func inherited(_ id: String, by other: String) -> Problem {
    Problem(
      .invalidParameter, "The provider \(other) inherits its descriptor from \(id).",
      provider: other, path: "/provider", hint: .init("providers.remove", ["provider": other]))
  }

  fileprivate static let damagedProviders = Problem.store(
    .corrupt,
    "The file of added providers beside the store is damaged.", advice: .restoreProvidersFile
  )

  fileprivate static let descriptorsTooLong = Problem(
    .invalidParameter,
    "The descriptors of the added providers would be longer than 1 MiB.", advice: .removeProviders
  )
}
