internal import EinlassJSON

extension Refusal {
  /// The message in the words of this command line: an option in place of a parameter.
  package var sentence: String {
    guard let path = data["path"]?.string else { return message }
    let opening = "The parameter \(path) "
    guard path.hasPrefix("/"), message.hasPrefix(opening) else { return message }
    let name = Self.names[Self.list(of: path)] ?? String(path.dropFirst())
    return "\(name) \(message.dropFirst(opening.count))"
  }

  /// Returns the path of the list if the path is that of an element, which the same option sets.
  private static func list(of path: String) -> String {
    guard let end = path.lastIndex(of: "/"), Int(path[end...].dropFirst()) != nil else {
      return path
    }
    return String(path[..<end])
  }

  /// Options and arguments by JSON Pointer into the parameters.
  private static let names = [
    "/flowKind": "--flow", "/scopes": "--scope", "/permissions": "--permission",
    "/page/loginHint": "--login-hint", "/audience": "--audience", "/displayName": "NAME",
    "/path": "PATH", "/issuer": "SOURCE", "/application": "APPLICATION", "/provider": "PROVIDER",
    "/account": "ACCOUNT", "/client/name": "The application's name", "/clientId": "--client-id",
    "/redirect": "--redirect", "/kind": "KIND", "/server/host": "--server",
    "/server/secure": "--plain-http", "/server/username": "--username",
    "/server/useCookies": "--cookies", "/server/trustedPublicKey": "--trusted-key",
    "/server/caFile": "--ca-file", "/expect/id": "--id", "/expect/scopes": "--scope",
    "/expect/clientId": "--client-id", "/expect/nonce": "--nonce",
  ]
}
