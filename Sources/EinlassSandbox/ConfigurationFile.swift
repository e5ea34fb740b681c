import EinlassJSON
import FoundationEssentials
import Glibc

/// The file of `--config-file`: the sandbox's configuration for einlass.
enum ConfigurationFile {
  /// The file exists, or cannot be written.
  struct Flaw: Error {
    var message: String
  }

  /// Writes a new file and the missing folders above it, all for their owner alone.
  static func write(_ configuration: JSONValue, to path: String) throws(Flaw) {
    umask(0o077)
    let file = URL(fileURLWithPath: path)
    do {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data((configuration.text + "\n").utf8).write(to: file, options: .withoutOverwriting)
    } catch let error as CocoaError where error.code == .fileWriteFileExists {
      throw Flaw(message: "The file \(path) exists already and stays. Name another one.")
    } catch {
      throw Flaw(message: "The file \(path) cannot be written. Name another one.")
    }
  }
}
