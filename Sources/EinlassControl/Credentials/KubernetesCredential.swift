internal import ArgumentParser
internal import EinlassJSON
internal import EinlassSystem

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
  static let program = "kubectl"

  private static let versions = [
    "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1",
  ]

  @Argument(
    help: "provider/user name, or another name for einlassctl token.", completion: .accounts)
  var what: String

  @Flag(help: "Answer with the access token, for a cluster that does not take the id_token.")
  var accessToken = false

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  private var version = versions[0]

  private enum CodingKeys: CodingKey { case what, accessToken, helper, server }

  mutating func begins() throws(Failure) -> Bool {
    guard let text = Environment.value("KUBERNETES_EXEC_INFO") else { return true }
    guard let asked = try? JSONReader.read(Array(text.utf8))["apiVersion"]?.string,
      Self.versions.contains(asked)
    else {
      throw .unusable(
        "KUBERNETES_EXEC_INFO asks for no known version. Known: \(Self.versions.joined(separator: ", "))."
      )
    }
    version = asked
    return true
  }

  func run(with console: Console) throws(Failure) {
    var needs = TokenNeeds()
    needs.wantsIDToken = !accessToken
    let token = try console.token(of: console.target(what), needs)
    let end = accessToken ? token.expiresAt : token.idTokenExpiresAt
    let answer: JSONValue = [
      "apiVersion": .string(version), "kind": "ExecCredential",
      "status": .object(
        JSONObject(present: [
          "token": .string(accessToken ? token.text : token.idToken ?? ""),
          "expirationTimestamp": end.map { .string(timestamp($0)) },
        ])),
    ]
    try TextOutput(1).write(answer.text + "\n")
  }
}
