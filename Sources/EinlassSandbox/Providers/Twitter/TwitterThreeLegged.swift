import EinlassJSON

/// Sign-in in a browser, with a callback or a PIN of seven digits.
extension Twitter {
  var threeLegged: ThreeLegged {
    ThreeLegged(provider: name, pinGroups: [7]) { [Parameter(name: "denied", value: $0)] }
  }

  /// The first step, after the check of the signature.
  func open(
    _ callback: String, for signer: OAuth1Check.Signer, in world: inout World
  ) throws(TwitterRefusal) -> Answer {
    let consumer = try application(signer.application, in: &world)
    let isPermitted = threeLegged.permits(callback, to: consumer)
    world.note("callback", isPermitted, callback)
    guard isPermitted else { throw .error(.callbackNotApproved) }
    return .text(
      threeLegged.open(callback, for: signer, in: &world).formEncoded,
      type: "text/html; charset=utf-8")
  }

  /// Returns whether a request is signed with a temporary token: the third step, as opposed to
  /// reverse auth.
  func namesRequest(_ request: Request, in world: World) -> Bool {
    let header = request.authorization("OAuth").flatMap(OAuth1Header.parameters)
    return header?["oauth_token"].map { world.state[at: name, "requests", $0] != nil } ?? false
  }

  func redeem(_ request: Request, in world: inout World) throws(TwitterRefusal) -> Answer {
    let signer = try signer(of: request, token: .request, in: &world)
    let consumer = try application(signer.application, in: &world)
    guard let id = threeLegged.redeem(signer, in: &world) else {
      throw .error(.couldNotAuthenticate)
    }
    let user = try user(id, passwordError: .noAccess, in: &world)
    return answer(with: issue(to: consumer, user: id, in: &world), user: user, id: id)
  }

  /// `POST /1.1/oauth/invalidate_token`
  func invalidateToken(_ request: Request, in world: inout World) throws(TwitterRefusal) -> Answer {
    let signer = try signer(of: request, token: .required, in: &world)
    let token = signer.token ?? ""
    world.state[at: name, "tokens", token, "revoked"] = true
    return .json(["access_token": .string(token)])
  }
}
