internal import EinlassJSON

extension ProofOfPossession {
  /// Returns the request with its proof, including the digest of the token that it carries.
  func proving(_ request: HTTPRequest, effects: Effects) -> HTTPRequest {
    let scheme = "DPoP "
    let authorization = request.headers.first { $0.name == "Authorization" }?.value
    let token = authorization.flatMap {
      $0.hasPrefix(scheme) ? String($0.dropFirst(scheme.count)) : nil
    }
    let proof = text(
      method: request.method.rawValue, address: request.address, token: token,
      nonce: effects.memory.proofNonces.read(request.address.origin),
      id: effects.randomBytes(16), now: effects.now(at: request.address))
    var request = request
    if let proof { request.headers.append(.init("DPoP", proof)) }
    return request
  }
}

extension Effects {
  /// Stores the nonce that a server demands for the next proof. Returns whether the server refused
  /// this request only for lack of that nonce. RFC 9449 sections 8 and 9.
  func noteProofNonce(of response: HTTPResponse, from address: WebAddress) -> Bool {
    guard let nonce = response.header("dpop-nonce"), TokenResponse.isToken(nonce),
      nonce.utf8.count <= ProofOfPossession.nonceLimitBytes
    else { return false }
    memory.proofNonces.write(address.origin, nonce)
    let error =
      response.header("www-authenticate").flatMap(Challenge.parse)?
      .first { $0.scheme == "dpop" }?["error"]
      ?? (try? response.json())?["error"]?.string
    return [400, 401].contains(response.status) && error == "use_dpop_nonce"
  }
}
