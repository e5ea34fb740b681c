internal import ArgumentParser
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// `einlassctl credential`: answers other programs in their own credential protocols.
struct CredentialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential", abstract: "Answer another program in its credential protocol.",
    discussion: """
      Each command is also a program of its own, by a symbolic link KIND-credential-einlass to \
      einlassctl. git, for example, runs git-credential-einlass after einlassctl setup git, or by \
      hand:

        git config --global credential.helper einlass
        einlassctl access set git github granted

      Nothing is printed but the answer. A failure is exit code 1 and one line on standard error.
      """,
    subcommands: [
      GitCredential.self, HeadersCredential.self, KubernetesCredential.self, CargoCredential.self,
      DockerCredential.self, BazelCredential.self,
    ])

  /// Returns the command's arguments if the program runs under the name of a helper:
  /// `git-credential-einlass get` is `einlassctl credential git get`.
  static func arguments(ofProgram path: String, _ rest: ArraySlice<String>) -> ArraySlice<String> {
    let name = path.split(separator: "/").last ?? ""
    let suffix = "-credential-einlass"
    guard name.hasSuffix(suffix) else { return rest }
    return ["credential", String(name.dropLast(suffix.count))] + rest
  }
}

/// A helper of another program. It acts under the name of that program.
protocol CredentialProtocol: ServerCommand {
  /// The name of the program, for access, preferences and audit.
  static var program: String { get }
  /// The options that all helpers share.
  var helper: CredentialOptions { get }
}

extension CredentialProtocol {
  var actsAs: String? { helper.application ?? Self.program }
  var servesProgram: Bool { true }
  var asksPerson: Bool { false }
  var signsIn: Bool { helper.signIn }
}

/// The options that all helpers share.
struct CredentialOptions: ParsableArguments {
  @Option(
    name: .customLong("for"), help: "Act under this name instead of the program's.",
    completion: .applications)
  var application: String?

  @Flag(help: "Sign in first if needed, by the prompter of the configuration file.")
  var signIn = false
}

extension Failure {
  /// Input that the helper's protocol does not allow.
  static func badInput(line: Int, _ sentence: String) -> Failure {
    .unusable("Line \(line) of the input \(sentence).")
  }
}

/// The request of a program on standard input.
enum ProgramInput {
  /// More than any of these programs sends.
  static let limitBytes = 1 << 16

  /// Reads standard input to its end.
  static func read() throws(Failure) -> [UInt8] {
    guard let input = try? Descriptor.duplicate(STDIN_FILENO),
      let bytes = input.readAll(limitBytes: limitBytes)
    else {
      throw .unusable("The input is longer than \(limitBytes) bytes, or cannot be read.")
    }
    return bytes
  }

  /// Reads one JSON object from standard input.
  static func object() throws(Failure) -> JSONObject {
    guard let object = try? JSONReader.read(try read()).object else {
      throw .badInput(line: 1, "is not a JSON object")
    }
    return object
  }
}
