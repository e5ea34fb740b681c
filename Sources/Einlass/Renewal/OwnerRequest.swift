internal import EinlassJSON

extension StoredCredentialFlow {
  /// Returns the error of asking the provider for the credential's owner; `nil` if it answers.
  func identityRefusal(of stored: StoredCredential) async -> FlowFailure? {
    do throws(FlowFailure) {
      switch stored.credential {
      case .oauth1(let token):
        let signer = Signer(
          method: provider.signatureMethod, registration: registration, token: token)
        _ = try await exchange(hiding: [token.token, token.tokenSecret]).identity {
          signer.request($0, effects: effects)
        }
      case .oauth2(let token):
        _ = try await exchange(hiding: [token.accessToken]).identity(
          token.bearing(clientID: registration.clientID, subject: account.subject))
      case .session(let session):
        guard case .passwordSession(let flow) = descriptor else { return nil }
        try await exchange(hiding: [session.id]).check(session, flow)
      }
      return nil
    } catch { return error }
  }
}
