internal import EinlassJSON
internal import Synchronization

/// A provider of a catalogue. Its descriptor is read on first use, because most processes need only
/// one of many.
final class CatalogEntry: Sendable {
  let id: String
  /// The descriptor's text, if it has not been read for the entry.
  private let text: ArraySlice<UInt8>?
  private let read: @Sendable () -> Provider
  private let provided = AtomicLazyReference<Provided>()

  private final class Provided: Sendable {
    let provider: Provider
    init(_ provider: Provider) { self.provider = provider }
  }

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
    (provided.load() ?? provided.storeIfNil(Provided(read()))).provider
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

  /// Returns the providers of a valid catalogue, without reading their descriptors; `nil` if an
  /// object does not begin with its id, because only reading it would then tell the id.
  static func entries(ofSound json: [UInt8]) -> [CatalogEntry]? {
    var scanner = ElementScanner(bytes: json)
    var entries: [CatalogEntry] = []
    while let element = scanner.next() {
      guard let id = element.id else { return nil }
      let pointer = "/providers/\(entries.count)"
      entries.append(
        CatalogEntry(id: id, text: json[element.place]) {
          guard let value = try? JSONReader.read(Array(json[element.place])),
            let provider = try? Provider(value, at: pointer)
          else { preconditionFailure("The built-in catalogue is sound; a test reads all of it.") }
          return provider
        })
    }
    return entries
  }
}

/// A scanner for the objects in the only list of a JSON object. It counts braces.
private struct ElementScanner {
  let bytes: [UInt8]
  private var position = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the next object's range, and its id if it is the first member.
  mutating func next() -> (id: String?, place: Range<Int>)? {
    var depth = position == 0 ? 0 : 1
    var isText = false
    var start = 0
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\\") where isText: position += 1
      case UInt8(ascii: "\""): isText.toggle()
      case _ where isText: break
      case UInt8(ascii: "{"):
        depth += 1
        if depth == 2 { start = position - 1 }
      case UInt8(ascii: "}"):
        depth -= 1
        if depth == 1 { return (id(ofObjectAt: start), start..<position) }
      default: break
      }
    }
    return nil
  }

  private func id(ofObjectAt start: Int) -> String? {
    let quote = UInt8(ascii: "\"")
    let parts = bytes[start...].prefix(128).split(
      separator: quote, maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[1].elementsEqual("id".utf8) else { return nil }
    return String(validating: parts[3], as: UTF8.self)
  }
}
