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

/// The changes that `einlassctl setup` has made, for `--undo`: the file `setup.json` beside the
/// configuration file.
///
///     {"git": {"settings": [{"name": …, "values": […], "before": […]}], "access": ["github"]}}
struct SetupRecord {
  private let path: String
  private var content: JSONObject

  /// Reads the file. A missing file is an empty record.
  init(_ options: ServerOptions) throws(Failure) {
    guard let configuration = options.config ?? options.usualConfiguration else {
      throw .usage("With --store the configuration file is needed too: --config PATH.")
    }
    path = SafeDirectory.split(configuration).parent + "/setup.json"
    content = JSONObject()
    guard FileStatus.at(path) != nil else { return }
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try PersonalFile.read(path, others: .mayNothing, limitBytes: 1 << 20)
    } catch { throw .unusable("\(path) \(error.explanation)") }
    guard let object = try? JSONReader.read(bytes).object else {
      throw .unusable("\(path) is not a JSON object.", NextStep("Correct or remove that file."))
    }
    content = object
  }

  /// The programs with a setup.
  var programs: [String] { content.members.map(\.name) }

  /// Returns the settings of a program, each with its values before the setup.
  func settings(of program: String) -> [(ours: Setting, before: [String])] {
    (content[program]?["settings"]?.array ?? []).compactMap { entry in
      guard let name = entry["name"]?.string, let values = entry["values"]?.strings,
        let before = entry["before"]?.strings
      else { return nil }
      return (Setting(name: name, values: values), before)
    }
  }

  /// Returns the providers to which the setup gave the program access.
  func access(of program: String) -> [String] { content[program]?["access"]?.strings ?? [] }

  /// Adds a setting. The oldest values before a setup stay.
  mutating func add(_ setting: Setting, before: [String], of program: String) {
    var entries = settings(of: program)
    let former = entries.first { sameBytes($0.ours.name, setting.name) }
    entries.removeAll { sameBytes($0.ours.name, setting.name) }
    let isOurs = former.map { $0.ours.values == before } ?? false
    entries.append((setting, isOurs ? former?.before ?? before : before))
    put(entries, access(of: program), program)
  }

  mutating func addAccess(to provider: String, of program: String) {
    put(settings(of: program), access(of: program) + [provider], program)
  }

  mutating func remove(_ program: String) { content[program] = nil }

  /// Writes the file.
  func save() throws(Failure) {
    let bytes = Array((JSONValue.object(content).indented() + "\n").utf8)
    do { try PersonalFile.replace(path, bytes) { (_: String) throws(Failure) in } } catch let error
      as FileError
    {
      throw .unusable("\(error.path) \(error.explanation)")
    } catch { throw .unusable("\(path) can't be written.") }
  }

  private mutating func put(
    _ settings: [(ours: Setting, before: [String])], _ access: [String], _ program: String
  ) {
    content[program] = [
      "settings": .array(
        settings.map { entry in
          [
            "name": .string(entry.ours.name), "values": JSONValue(entry.ours.values),
            "before": JSONValue(entry.before),
          ]
        }), "access": JSONValue(access),
    ]
  }
}
