import EinlassJSON
import FoundationEssentials

/// The private repository `ada/hello.git`, for trials of `git clone` and `git push` with a token.
extension OAuth2Provider {
  /// Answers a request below the repository's path. The token is the password of any user name, or a
  /// bearer token. Only a missing or dead token is answered with 401, as at the provider.
  func repository(
    _ request: Request, at path: String, in world: inout World
  ) throws(OAuth2Refusal) -> Answer {
    let credential = request.authorization("Basic").flatMap { Data(base64Encoded: $0) }
    let password = credential.map { String(decoding: $0, as: UTF8.self) }?
      .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).last.map(String.init)
    let token = request.authorization("Bearer") ?? password
    let (record, flaw) = token.map { self.token($0, in: world) } ?? (nil, "missing")
    world.note("token", flaw == nil, flaw)
    guard flaw == nil else {
      throw OAuth2Refusal(
        "invalid_token", "The token is \(flaw ?? "unknown")", status: 401, challenge: "Basic")
    }
    let scopes = record?["scopes"]?.strings ?? []
    let rights = behaviour(in: world).repository
    let isPush =
      request.path.hasSuffix("/git-receive-pack")
      || request.query?.values(of: "service") == ["git-receive-pack"]
    let isAllowed = isPush ? rights.mayWrite(scopes) : rights.mayRead(scopes)
    world.note("scopes", isAllowed, isAllowed ? nil : scopes.joined(separator: " "))
    guard isAllowed else {
      return rights.hides
        ? .text("Repository not found.\n", status: 404)
        : .text("The token lacks the scopes for this repository.\n", status: 403)
    }
    do {
      return try world.repositories.answer(
        request, of: name, at: path, mayChangeWorkflows: rights.mayChangeWorkflows(scopes))
    } catch {
      return .text("git http-backend: \(error)\n", status: 500)
    }
  }
}

/// The scopes that a provider's repositories ask for: the member `repository` of its behaviour.
/// Without it, any token reads and writes.
struct RepositoryRights: Sendable {
  let json: JSONValue?

  static let shape = StateShape.members([
    ("read", .texts), ("write", .texts), ("workflows", .texts), ("unlimited", .texts),
    ("hides", .flag),
  ])

  func mayRead(_ scopes: [String]) -> Bool { allows("read", scopes) }
  func mayWrite(_ scopes: [String]) -> Bool { allows("write", scopes) }
  /// Whether a push may change files below `.github/workflows`.
  func mayChangeWorkflows(_ scopes: [String]) -> Bool { allows("workflows", scopes) }
  /// Whether the answer is that there is no such repository.
  var hides: Bool { json?["hides"]?.bool ?? false }

  /// Whether one of the scopes of this list is there. A token with no scopes but those of
  /// `unlimited` has all rights.
  private func allows(_ member: String, _ scopes: [String]) -> Bool {
    guard let needed = json?[member]?.strings else { return true }
    if let unlimited = json?["unlimited"]?.strings, scopes.allSatisfy({ unlimited.contains($0) }) {
      return true
    }
    return needed.contains { scopes.contains($0) }
  }
}
