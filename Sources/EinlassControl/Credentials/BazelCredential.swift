internal import ArgumentParser
internal import EinlassHelpers

/// `einlassctl credential bazel`: Bazel's credential helper specification.
struct BazelCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "bazel", abstract: "Bazel: --credential_helper=bazel-credential-einlass",
    discussion: #"Reads {"uri": "https://…"} and answers {"headers": {"Authorization": […]}}."#)

  @Argument(help: "The operation: get.")
  var operation: String

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  var question: BazelProtocol { BazelProtocol(operation: operation) }
}
