internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// The configuration file of the person, to be edited. Members other than `services` and `folders`
/// stay.
struct ConfigurationFile {
  /// The path from `--config`, or the usual one.
  let path: String
  private var content: JSONObject

  /// Reads the file. A missing file is an empty configuration.
  init(_ options: ServerOptions) throws(Failure) {
    path = try Self.path(options)
    guard FileStatus.at(path) != nil else {
      content = JSONObject()
      return
    }
    let bytes = try Self.bytes(path, others: .mayRead)
    do throws(JSONFile.Fault) {
      let json = try JSONFile.read(bytes)
      guard let object = json.object else {
        throw JSONFile.Fault(explanation: "is no JSON object")
      }
      content = object
    } catch {
      throw .unusable("\(path) \(error.explanation).", NextStep("Correct that file first."))
    }
    if JSONValue.object(content).firstSecretOfConfiguration != nil {
      _ = try Self.bytes(path, others: .mayNothing)
    }
  }

  private static func bytes(
    _ path: String, others: PersonalFile.Others
  ) throws(Failure) -> [UInt8] {
    do throws(FileError) {
      return try PersonalFile.read(path, others: others, limitBytes: 1 << 20)
    } catch { throw .unusableFile(path, error) }
  }

  /// The elements of `services`.
  var services: [JSONValue] {
    get { content["services"]?.array ?? [] }
    set { content["services"] = newValue.isEmpty ? nil : .array(newValue) }
  }

  /// The path of the file of trusted authorities.
  var caFile: String? { content["caFile"]?.string }

  /// The elements of `folders`.
  var folders: [JSONValue] {
    get { content["folders"]?.array ?? [] }
    set { content["folders"] = newValue.isEmpty ? nil : .array(newValue) }
  }

  /// Returns an https address at the server that `origins` puts in the place of its own.
  func moved(_ address: String) -> String {
    let parts = address.split(
      separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count > 2,
      let server = content["origins"]?[parts[..<3].joined(separator: "/")]?.string
    else { return address }
    return ([server] + parts.dropFirst(3).map(String.init)).joined(separator: "/")
  }

  private static func path(_ options: ServerOptions) throws(Failure) -> String {
    guard let path = options.config ?? options.usualConfiguration else {
      throw .usage("With --store the configuration file is needed too: --config PATH.")
    }
    return path
  }

  /// Reads the file, changes it and writes it. Two commands at once make both changes. Returns the
  /// path.
  static func edit(
    _ options: ServerOptions, _ change: (inout ConfigurationFile) throws(Failure) -> Void
  ) throws(Failure) -> String {
    let path = try path(options)
    try withFolderLocked(of: path) {
      var file = try ConfigurationFile(options)
      try change(&file)
      try file.save(options)
    }
    return path
  }

  /// Writes the file, after einlass has accepted it.
  private func save(_ options: ServerOptions) throws {
    let bytes = Array((JSONValue.object(content).indented() + "\n").utf8)
    try PersonalFile.replace(path, bytes) { finished throws(Failure) in
      var options = options
      options.config = finished
      let console = try Console(options, asksPerson: false)
      defer { console.end() }
      guard let problem = console.greeting["configuration"]?["problem"] else { return }
      let why = problem.explanation(repeating: []).replacing(finished, with: path)
      throw .unusable("Nothing was changed. \(why)")
    }
  }

  /// Runs the body of a command without a server. Prints a failure as the other commands do.
  static func reporting(
    _ options: ServerOptions, _ body: () throws(Failure) -> Void
  ) throws {
    do throws(Failure) { try body() } catch {
      error.report(options.choice, by: complain)
      throw error
    }
  }
}

/// Runs the body while no other `einlassctl` changes a file in the folder of this one.
func withFolderLocked(of path: String, _ body: () throws -> Void) throws(Failure) {
  do { try PersonalFile.withFolderLocked(of: path, body) } catch let failure as Failure {
    throw failure
  } catch let error as FileError {
    throw .unusableFile(error.path, error)
  } catch { throw .unusable("\(path) can't be written.") }
}
