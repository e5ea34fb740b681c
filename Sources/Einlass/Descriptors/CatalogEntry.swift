internal import EinlassJSON
internal import Synchronization

/// A provider of a catalogue. Its descriptor is read on first use, because most processes need only
/// one of many.
final class CatalogEntry: Sendable {
  let id: String
  /// The descriptor's text, for a built-in provider at its own addresses.
  let text: ArraySlice<UInt8>?
  private let read: @Sendable () -> Provider
  private let provided = AtomicLazyReference<Provider>()

  /// - Parameter read: Called once, or twice if two threads ask at the same time.
  init(id: String, text: ArraySlice<UInt8>? = nil, _ read: @escaping @Sendable () -> Provider) {
    self.id = id
    self.text = text
    self.read = read
  }

  convenience init(_ provider: Provider) {
    self.init(id: provider.id) { provider }
  }

  var provider: Provider {
    provided.load() ?? provided.storeIfNil(read())
  }

  /// Whether the descriptor may hold this word. `false` saves reading it.
  func mayHold(_ word: String) -> Bool {
    guard let text else { return true }
    let word = Array(word.utf8)
    guard let first = word.first else { return true }
    var rest = text
    while let start = rest.firstIndex(of: first) {
      rest = rest[start...]
      if rest.starts(with: word) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  func relocated(_ move: @escaping @Sendable (WebAddress) -> WebAddress) -> CatalogEntry {
    CatalogEntry(id: id) { [self] in provider.relocated(move) }
  }

  /// Returns the providers of a valid catalogue with the lines of `providers.json`, without reading
  /// their descriptors; `nil` if an object does not begin with its id, because only reading it would
  /// then tell the id.
  static func entries(ofSound json: [UInt8]) -> [CatalogEntry]? {
    var entries: [CatalogEntry] = []
    for place in objects(in: json) {
      let text = json[place]
      guard let id = firstID(ofObject: text) else { return nil }
      let pointer = "/providers/\(entries.count)"
      entries.append(
        CatalogEntry(id: id, text: text) {
          guard let value = try? JSONReader.read(Array(text)),
            let provider = try? Provider(value, at: pointer)
          else { preconditionFailure("The built-in catalogue is sound; a test reads all of it.") }
          return provider
        })
    }
    return entries
  }
}

/// Returns the places of the objects in `providers.json`. There each begins and ends on a line of
/// its own with four blanks, because each start of the process reads the whole catalogue here: it
/// needs to look at the line ends only.
private func objects(in json: [UInt8]) -> [Range<Int>] {
  var places: [Range<Int>] = []
  places.reserveCapacity(64)
  var (start, position) = (0, 0)
  while let end = json.firstIndex(of: UInt8(ascii: "\n"), from: position) {
    position = end + 1
    let brace = end + 5
    // Most lines are indented further, so the byte in the place of the brace tells most.
    guard brace < json.count, json[brace] != UInt8(ascii: " "),
      json[position..<brace].allSatisfy({ $0 == UInt8(ascii: " ") })
    else { continue }
    if json[brace] == UInt8(ascii: "{") { start = brace }
    if json[brace] == UInt8(ascii: "}") { places.append(start..<brace + 1) }
  }
  return places
}

/// Returns an object's id if it is the first member.
private func firstID(ofObject text: ArraySlice<UInt8>) -> String? {
  let parts = text.prefix(128).split(
    separator: UInt8(ascii: "\""), maxSplits: 4, omittingEmptySubsequences: false)
  guard parts.count == 5, parts[1].elementsEqual("id".utf8) else { return nil }
  return String(validating: parts[3], as: UTF8.self)
}
