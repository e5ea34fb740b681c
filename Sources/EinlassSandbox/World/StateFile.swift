import EinlassJSON
import FoundationEssentials

/// A file with an initial state.
enum StateFile {
  /// The reason why a file is not a valid state, as a sentence.
  struct Flaw: Error, Equatable {
    var message: String
  }

  /// Reads and checks a state.
  static func read(_ path: String) throws(Flaw) -> JSONValue {
    let bytes: [UInt8]
    do { bytes = Array(try Data(contentsOf: URL(filePath: path))) } catch {
      throw Flaw(message: "\(path) cannot be read.")
    }
    let state: JSONValue
    do { state = try JSONReader.read(bytes) } catch {
      throw Flaw(message: "\(path) is not JSON: \(error).")
    }
    if let flaw = StateShape.flaw(in: state) {
      throw Flaw(
        message: "\(path): \(flaw.path.isEmpty ? "the whole" : flaw.path): \(flaw.message)")
    }
    return state
  }
}
