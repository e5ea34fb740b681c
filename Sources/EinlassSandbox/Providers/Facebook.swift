import EinlassJSON

/// Facebook's Graph as the accounts of a system used it.
struct Facebook: Provider {
  let name = "facebook"
  let origins = ["https://graph.facebook.com"]

  func owns(_ request: Request) -> Bool { true }

  func answer(_ request: Request, in world: inout World) -> Answer {
    .json(
      ["error": ["message": "Unknown path components", "type": "OAuthException", "code": 2500]],
      status: 404)
  }

  var shape: StateShape { .members([]) }
  var demoState: JSONValue { [:] }
  func account(user: Record, token: Record, of application: Consumer) -> JSONValue { .null }
}
