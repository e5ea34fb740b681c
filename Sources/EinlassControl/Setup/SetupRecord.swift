internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

extension JSONValue {
  /// The elements of a list of texts; `nil` for another value.
  var strings: [String]? {
    guard let array else { return nil }
    let strings = array.compactMap(\.string)
    return strings.count == array.count ? strings : nil
  }
}

/// A change of a setting by `einlassctl setup`.
struct SetupChange: Equatable {
  var ours: Setting
  /// The values before the setup.
  var before: [String]
  /// The values of an earlier setup that this one has replaced.
  var replaced: [String]?
}

/// The changes that `einlassctl setup` has made, for `--undo`: the file `setup.json` beside the
/// configuration file.
///
///     {"git": {"settings": [{"name": …, "values": […], "before": […]}], "access": ["github"]}}
///
/// `"unfinished": true` beside them stands there while the settings are being written. The record
/// is written before the first change, because an interrupted setup is taken back by it too. Values
/// of the person's since then stay.
struct SetupRecord {
  private let path: String
  private var content: JSONObject

  /// Reads the file. A missing file is an empty record.
  init(_ options: ServerOptions) throws(Failure) {
    path = try Self.path(options)
    content = JSONObject()
    guard FileStatus.at(path) != nil else { return }
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try PersonalFile.read(path, others: .mayNothing, limitBytes: 1 << 20)
    } catch { throw .unusableFile(path, error) }
    guard let object = try? JSONReader.read(bytes).object else {
      throw .unusable("\(path) is not a JSON object.", NextStep("Correct or remove that file."))
    }
    content = object
  }

  private static func path(_ options: ServerOptions) throws(Failure) -> String {
    guard let configuration = options.config ?? options.usualConfiguration else {
      throw .usage("With --store the configuration file is needed too: --config PATH.")
    }
    return SafeDirectory.split(configuration).parent + "/setup.json"
  }

  /// Reads the record and changes it and the settings, while no other setup does.
  static func edit(
    _ options: ServerOptions, _ change: (inout SetupRecord) throws(Failure) -> Void
  ) throws(Failure) {
    try withFolderLocked(of: path(options)) {
      var record = try SetupRecord(options)
      try change(&record)
    }
  }

  /// The programs with a setup.
  var programs: [String] { content.members.map(\.name) }

  /// Returns the changes of a program's settings.
  func changes(of program: String) -> [SetupChange] {
    (content[program]?["settings"]?.array ?? []).compactMap { entry in
      guard let name = entry["name"]?.string, let values = entry["values"]?.strings,
        let before = entry["before"]?.strings
      else { return nil }
      return SetupChange(
        ours: Setting(name: name, values: values), before: before,
        replaced: entry["replaced"]?.strings)
    }
  }

  /// Returns the providers to which the setup gave the program access.
  func access(of program: String) -> [String] { content[program]?["access"]?.strings ?? [] }

  /// Whether a setup, or an interrupted one or its taking back, has left these values of a setting.
  /// Values are written one by one, so an interrupted one may have left the first ones alone.
  func mayHaveLeft(_ present: [String], by change: SetupChange, of program: String) -> Bool {
    guard content[program]?["unfinished"]?.bool == true else {
      return present == change.ours.values
    }
    return change.ours.values.starts(with: present) || change.before.starts(with: present)
      || present == change.replaced
  }

  /// Adds the change of a setting from its present values. The oldest values before a setup stay.
  mutating func add(_ setting: Setting, from present: [String], of program: String) {
    var changes = changes(of: program)
    let former = changes.first { sameBytes($0.ours.name, setting.name) }
    changes.removeAll { sameBytes($0.ours.name, setting.name) }
    let isOurs = former.map { mayHaveLeft(present, by: $0, of: program) } ?? false
    changes.append(
      SetupChange(
        ours: setting, before: isOurs ? former?.before ?? present : present, replaced: present))
    put(changes, access(of: program), program)
  }

  mutating func addAccess(to provider: String, of program: String) {
    let others = access(of: program).filter { !sameBytes($0, provider) }
    put(changes(of: program), others + [provider], program)
  }

  /// Notes that all settings are written.
  mutating func finish(_ program: String) {
    guard var setup = content[program]?.object else { return }
    setup["unfinished"] = nil
    content[program] = .object(setup)
  }

  mutating func remove(_ program: String) { content[program] = nil }

  /// Writes the file.
  ///
  /// - Parameter program: the program with settings that are written next.
  func save(unfinished program: String? = nil) throws(Failure) {
    var content = content
    if let program, var setup = content[program]?.object {
      setup["unfinished"] = true
      content[program] = .object(setup)
    }
    let bytes = Array((JSONValue.object(content).indented() + "\n").utf8)
    do { try PersonalFile.replace(path, bytes) { (_: String) throws(Failure) in } } catch let error
      as FileError
    {
      throw .unusableFile(error.path, error)
    } catch { throw .unusable("\(path) can't be written.") }
  }

  private mutating func put(_ changes: [SetupChange], _ access: [String], _ program: String) {
    let settings = changes.map { change in
      JSONValue.object(
        JSONObject(present: [
          "name": .string(change.ours.name), "values": JSONValue(change.ours.values),
          "before": JSONValue(change.before),
          "replaced": change.replaced == change.before
            ? nil : change.replaced.map { JSONValue($0) },
        ]))
    }
    content[program] = .object(
      JSONObject(present: [
        "settings": .array(settings), "access": JSONValue(access),
        // The other settings of an interrupted setup are still to be judged.
        "unfinished": content[program]?["unfinished"],
      ]))
  }
}
