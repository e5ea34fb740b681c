internal import EinlassJSON
internal import EinlassSystem

/// The program `kubernetes-credential-einlass`: an exec plug-in of kubectl
/// (client.authentication.k8s.io).
package struct KubernetesProtocol: ProgramProtocol {
  package static let program: String? = "kubectl"

  private static let versions = [
    "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1",
  ]

  /// The name of the account.
  private let name: String
  /// Whether the cluster takes the access token and not the id_token.
  private let accessToken: Bool
  private var version = versions[0]

  package init(_ name: String, accessToken: Bool = false) {
    (self.name, self.accessToken) = (name, accessToken)
  }

  package mutating func begins() throws(Failure) -> Bool {
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

  package func run(with client: any Client) throws(Failure) {
    var needs = TokenNeeds()
    needs.wantsIDToken = !accessToken
    let token = try client.token(of: client.target(name), needs)
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
