import EinlassJSON
import FoundationEssentials

/// The endpoints of single providers that name the application of a token.
extension OAuth2Provider {
  /// Answers about a token as the provider's state `tokenInfo` says.
  func tokenInfo(_ request: Request, in world: inout World) throws(OAuth2Refusal) -> Answer {
    let words = world.state[at: name, "tokenInfo"] ?? .null
    let method = words["method"]?.string ?? "GET"
    guard sameBytes(request.method, method) else {
      throw OAuth2Refusal("invalid_request", "Use \(method)", status: 405)
    }
    let (token, asking) = try checkedToken(request, words["token"]?.string, in: &world)
    let (record, flaw) = self.token(token ?? "", in: world)
    let owner = record?["application"]?.string ?? ""
    // A provider that asks in the path for an application knows only its tokens.
    let isKnown = asking.map { words["token"] != "application" || sameBytes($0, owner) } ?? true
    world.note("token", flaw == nil && isKnown, flaw ?? (isKnown ? nil : "of another application"))
    guard flaw == nil, isKnown, let record else {
      guard let refusal = words["refusal"] else {
        throw OAuth2Refusal(
          "invalid_token", "The token is \(flaw ?? "unknown")", status: 401, challenge: "Bearer")
      }
      return .json(refusal, status: Int(words["refusalStatus"]?.int64 ?? 200))
    }
    let facts = facts(of: record, in: world)
    return .json(Self.fill(words["answer"] ?? .null, with: facts) ?? .null)
  }

  /// Returns the token of a request, and the id of the application that has proved itself.
  private func checkedToken(
    _ request: Request, _ place: String?, in world: inout World
  ) throws(OAuth2Refusal) -> (token: String?, asking: String?) {
    let form = request.form ?? []
    switch place {
    case "oauth": return (request.authorization("OAuth"), nil)
    case "open": return (form["access_token"], nil)
    case "query": return (request.query?["access_token"], nil)
    case "post":
      guard request.header("Authorization") == nil else {
        throw OAuth2Refusal("invalid_request", "Id and secret belong into the form")
      }
      return (form["token"], try proved(request, form, in: &world))
    case "basic":
      guard request.authorization("Basic") != nil else { throw .unproved }
      return (form["token"], try proved(request, [], in: &world))
    case "application":
      let id: String
      do throws(OAuth2Refusal) { id = try proved(request, [], in: &world) } catch {
        throw OAuth2Refusal("bad_credentials", error.description, status: 401)
      }
      let isOfPath = request.path.split(separator: "/").contains { sameBytes(String($0), id) }
      let token = (try? JSONReader.read(request.body))?["access_token"]?.string
      return (isOfPath ? token : nil, id)
    default: return (request.authorization("Bearer"), nil)
    }
  }

  /// Returns the id of the application that has proved itself by its secret.
  private func proved(
    _ request: Request, _ form: [Parameter], in world: inout World
  ) throws(OAuth2Refusal) -> String {
    let application = try application(of: request, form, in: &world)
    guard !application.secret.isEmpty else { throw .unproved }
    return application.id
  }

  /// Returns the user of a token with the facts of the token as further members.
  private func facts(of token: JSONValue, in world: World) -> Record {
    let user = token["user"]?.string.flatMap { self.user($0, in: world) }
    let scopes = token["scopes"]?.strings ?? []
    let end = token["expiresAt"]?.int64
    let facts = JSONObject(present: [
      "clientId": token["application"], "scopes": JSONValue(scopes),
      "scope": .string(
        scopes.joined(separator: String(behaviour(in: world).scopeSeparator))),
      "expiresIn": end.map { JSONValue($0 - world.now) },
      "expiresInText": end.map { .string("\($0 - world.now)") },
      "expiresAt": end.map { JSONValue($0) },
      "expires": end.map {
        .string(Date(timeIntervalSince1970: TimeInterval($0)).ISO8601Format())
      },
    ])
    return Record(
      id: user?.id ?? "", value: (user?.value ?? .object(JSONObject())).merging(.object(facts)))
  }
}

extension OAuth2Refusal {
  fileprivate static var unproved: OAuth2Refusal {
    OAuth2Refusal(
      "invalid_client", "Only applications with a secret may ask", status: 401, challenge: "Basic")
  }
}
