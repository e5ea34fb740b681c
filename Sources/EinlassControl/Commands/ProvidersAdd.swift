internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// `einlassctl providers add`.
struct ProvidersAdd: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a provider that the catalogue lacks.",
    discussion: """
      A server that publishes its metadata, as OpenID Connect and OAuth 2.0 servers do, needs only \
      its address. Any other provider needs a FILE: one JSON object, or {"providers": […]}, as in \
      protocol/PROVIDERS.md.

      EXAMPLES:
        einlassctl providers add https://login.example.com
        einlassctl providers add https://git.example.com --id work --name Work
        einlassctl providers add provider.json
      """)

  @Argument(help: "The provider's https address, exactly as in its metadata, or a file.")
  var source: String?

  @Option(help: "The id on command lines (default: made of its host).")
  var id: String?

  @Option(help: "The name for people.")
  var name: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let source = try console.text(
      "The provider's address (https://…):", given: source,
      orElse: "Name the provider's address or a file: SOURCE is missing.")
    let isAddress = ["https://", "http://"].contains(where: source.hasPrefix)
    guard isAddress else {
      guard id == nil, name == nil else {
        throw .usage(
          "A file names its providers itself. Use --id and --name only with an address.")
      }
      for descriptor in try Self.descriptors(source) {
        do throws(Failure) { try add(["descriptor": descriptor], console) } catch {
          guard case .refused(var refusal) = error,
            refusal.data["path"]?.string?.hasPrefix("/descriptor") == true
          else { throw error }
          refusal.ownStep = NextStep("Correct the file at that place.")
          throw .refused(refusal)
        }
      }
      return
    }
    try add(
      JSONObject(present: [
        "issuer": .string(source), "id": id.map { .string($0) }, "name": name.map { .string($0) },
      ]), console)
  }

  private func add(_ params: JSONObject, _ console: Console) throws(Failure) {
    let result = try console.call("providers.add", params)
    let provider = clean(result["provider"]?.plain ?? "")
    let verb = result["created"]?.bool == true ? "Added" : "Replaced"
    let isReady = try console.list("providers.list", "providers").contains {
      $0["id"] == result["provider"] && $0["configured"]?.bool == true
    }
    let next =
      isReady
      ? NextStep("Sign in there:", "sign-in", provider)
      : NextStep(
        "Register an application there and enter its client id:", "providers", "configure", provider
      )
    let ignored = result["ignored"]?.array?.compactMap(\.string).map(clean) ?? []
    let notes =
      ignored.isEmpty
      ? [] : ["Its metadata cannot be read in full: \(ignored.joined(separator: ", "))."]
    try console.report(
      .object(result), notes + ["\(verb) \(provider). \(next.line(repeating: server.repeated))"])
  }

  /// Reads a file with one descriptor, or with a `providers` list as in a file for `--providers`.
  private static func descriptors(_ path: String) throws(Failure) -> [JSONValue] {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try PersonalFile.read(path, others: .mayRead, limitBytes: 1 << 20)
    } catch {
      let isMissing = error.cause == .system(ENOENT)
      throw isMissing
        ? Failure.unusable("\(path) \(error.explanation) An address must begin with https://.")
        : Failure.unusableFile(path, error)
    }
    let json: JSONValue
    do throws(JSONFile.Fault) { json = try JSONFile.read(bytes) } catch {
      throw .unusable("\(path) \(error.explanation).")
    }
    guard json.object != nil else {
      throw .unusable("\(path) does not contain a JSON object.")
    }
    let descriptors = json["providers"]?.array ?? [json]
    guard !descriptors.isEmpty else { throw .unusable("\(path) does not contain a provider.") }
    return descriptors
  }
}

/// `einlassctl providers remove`.
struct ProvidersRemove: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove an added provider and its registration; its accounts stay.",
    discussion: "EXAMPLE: einlassctl providers remove work-git")

  @Argument(help: "The provider.", completion: .providers)
  var provider: String?

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let provider = try console.addedProvider(provider)
    try console.confirm("Remove the provider \(clean(provider))?", isAgreed: yes)
    let result = try console.call("providers.remove", ["provider": .string(provider)])
    let left = try console.accounts(of: provider)
    let stay =
      left.isEmpty
      ? [] : ["These accounts remain, and are unusable until the provider is added again:"]
    let what = result["registration"]?.bool == true ? " and its stored registration" : ""
    try console.report(
      .object(result),
      ["Removed \(clean(provider))\(what)."] + stay + left.map { "  \($0.title)" })
  }
}

extension Console {
  /// Returns the given provider id, or asks for one of the added providers. The catalogue's own
  /// providers cannot be removed.
  fileprivate func addedProvider(_ given: String?) throws(Failure) -> String {
    if let given { return given }
    let missing = "Name the provider: PROVIDER is missing."
    guard person != nil else { throw .usage(missing) }
    let all = try list("providers.list", "providers").filter { $0["added"]?.bool == true }
      .compactMap { $0["id"]?.string }
    guard !all.isEmpty else {
      throw .unusable("No provider was added, and those of the catalogue can't be removed.")
    }
    return all[try choice("Which provider?", all.map(clean), orElse: missing)]
  }
}
