internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl setup docker`.
struct DockerSetup: SetupCommand {
  static let configuration = CommandConfiguration(
    commandName: "docker", abstract: "Set docker, podman or skopeo up for registries.",
    discussion: """
      Sets einlass as the credential helper of each registry, in ~/.docker/config.json \
      (DOCKER_CONFIG). A registry that no provider names needs a service first.

      EXAMPLES:
        einlassctl services add https://registry.example.com google
        einlassctl setup docker registry.example.com
        einlassctl setup docker --undo
      """)
  static let program = "docker"
  static var place: String { path }

  @Argument(help: "The registries, by host and port.")
  var registries: [String] = []

  @OptionGroup var setup: SetupOptions
  @OptionGroup var server: ServerOptions

  func plan(_ console: Console) throws(Failure) -> (settings: [Setting], providers: [String]) {
    guard !registries.isEmpty else { throw .usage("Name the registry: REGISTRY is missing.") }
    guard OtherProgram.path(of: "docker-credential-einlass") != nil else {
      throw .unusable(
        "docker-credential-einlass is not on the PATH, so docker would not find it.",
        NextStep("Run clients/install, or add its folder to the PATH."))
    }
    var providers: [String] = []
    for registry in registries {
      guard !registry.contains("/") else {
        throw .unusable(
          "docker looks helpers up by host and port, so it would never ask for \(registry).",
          NextStep("Name the host and the port alone."))
      }
      let address = try DockerProtocol.address(of: registry, console)
      let found = try console.resolution(of: ["address": .string(address)])
      let provider = found["provider"]?.string ?? ""
      if !providers.contains(provider) { providers.append(provider) }
    }
    return (registries.map { Setting(name: $0, values: ["einlass"]) }, providers)
  }

  static func values(of name: String) throws(Failure) -> [String] {
    try content()["credHelpers"]?[name]?.string.map { [$0] } ?? []
  }

  static func present() throws(Failure) -> [String] {
    try (content()["credHelpers"]?.object?.members ?? [])
      .filter { $0.value.string == "einlass" }.map(\.name)
  }

  static func deadCommand(in values: [String]) -> String? {
    OtherProgram.unfound("docker-credential-einlass")
  }

  static func write(_ setting: Setting) throws(Failure) {
    var content = try content()
    var helpers = content["credHelpers"]?.object ?? JSONObject()
    helpers[setting.name] = setting.values.first.map(JSONValue.string)
    content["credHelpers"] = helpers.members.isEmpty ? nil : .object(helpers)
    let bytes = Array((JSONValue.object(content).indented() + "\n").utf8)
    do { try PersonalFile.replace(path, bytes) { (_: String) throws(Failure) in } } catch {
      throw .unusable("\(path) can't be written.")
    }
  }

  private static func content() throws(Failure) -> JSONObject {
    guard FileStatus.at(path) != nil else { return JSONObject() }
    guard let bytes = try? PersonalFile.read(path, others: .mayRead, limitBytes: 1 << 20),
      let object = try? JSONReader.read(bytes).object
    else { throw .unusable("\(path) cannot be read, or is not a JSON object.") }
    return object
  }

  private static var path: String {
    let folder =
      Environment.value("DOCKER_CONFIG") ?? "\(Environment.value("HOME") ?? "")/.docker"
    return "\(folder)/config.json"
  }
}
