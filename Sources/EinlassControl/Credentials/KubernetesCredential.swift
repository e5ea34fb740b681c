internal import ArgumentParser
internal import EinlassHelpers

/// `einlassctl credential kubernetes`: an exec plug-in of kubectl (client.authentication.k8s.io).
struct KubernetesCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "kubernetes", abstract: "kubectl: an exec plug-in of a kubeconfig",
    discussion: """
      Answers with the account's id_token, refreshed before it ends, in the version that kubectl \
      asks for.

      EXAMPLE (users of a kubeconfig):
        - name: ada
          user:
            exec:
              apiVersion: client.authentication.k8s.io/v1
              command: einlassctl
              args: [credential, kubernetes, example/ada]
              interactiveMode: Never
      """)

  @Argument(
    help: "provider/user name, or another name for einlassctl token.", completion: .accounts)
  var what: String

  @Flag(help: "Answer with the access token, for a cluster that does not take the id_token.")
  var accessToken = false

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  var question: KubernetesProtocol { KubernetesProtocol(what, accessToken: accessToken) }
}
