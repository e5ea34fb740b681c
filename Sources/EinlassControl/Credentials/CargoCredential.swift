internal import ArgumentParser
internal import EinlassHelpers

/// `einlassctl credential cargo`: a credential provider of cargo, one JSON line each way.
struct CargoCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "cargo", abstract: "cargo: credential-provider of a registry",
    discussion: """
      Answers only for a sparse index at a service: cargo sends the token to the hosts that the \
      index names, so a host of a provider does not suffice.

      EXAMPLE (~/.cargo/config.toml):
        [registries.example]
        index = "sparse+https://registry.example.com/index/"
        credential-provider = ["cargo-credential-einlass"]
      """)

  @Flag(name: .customLong("cargo-plugin"), help: .hidden)
  var isPlugin = false

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  var question: CargoProtocol { CargoProtocol() }
}
