internal import Einlass

// The number, the name and the sentence of each reason. Its next steps are in `NextSteps.swift`.

extension Problem.Reason {
  /// The code on the wire.
  var code: Int {
    switch self {
    case .noSystemAccount: 1001
    case .accessNotGranted: 1002
    case .userCanceledAccountSelection: 1003
    case .accountBanned: 1004
    case .reloginNeeded, .notIssuedToThisClient: 1005
    case .authenticatorUnconfigured: 1006
    case .networkFailure: 1007
    case .providerFailure: 1008
    case .accountStoreFailure: 1009
    case .interactionRequired: 1010
    case .userCanceled: 1011
    case .accessDenied: 1012
    case .stateMismatch: 1013
    case .flowExpired: 1014
    case .flowNotSupported: 1015
    case .wrongCredentials: 1016
    case .throttled: 1017
    case .tokenNotSaved: 1018
    case .verificationFailed: 1019
    case .unknownProvider: 1020
    case .unknownAccount: 1021
    case .unknownFlow: 1022
    case .unknownPrompt: 1023
    case .promptAlreadyAnswered: 1024
    case .invalidChoice: 1025
    case .reservedParameter: 1026
    case .bindingMismatch: 1027
    case .unsafeURL: 1028
    case .accountExists: 1029
    case .invalidCredential: 17004
    case .emailAlreadyInUse: 17007
    case .invalidEmail: 17008
    case .wrongPassword: 17009
    case .tooManyRequests: 17010
    case .userNotFound: 17011
    case .accountExistsWithDifferentCredential: 17012
    case .requiresRecentLogin: 17014
    case .providerAlreadyLinked: 17015
    case .noSuchProvider: 17016
    case .userMismatch: 17024
    case .credentialAlreadyInUse: 17025
    case .weakPassword: 17026
    case .missingEmail: 17034
    case .nullUser: 17067
    case .cancelled: -32800
    case .invalidParameter: -32602
    case .internal: -32603
    }
  }

  /// The name on the wire.
  var word: String {
    switch self {
    case .invalidParameter: "invalidParams"
    default: rawValue
    }
  }

  /// The meaning; empty for a reason of the protocol itself.
  var summary: String {
    switch self {
    case .cancelled, .invalidParameter, .internal: ""
    case .noSystemAccount: "The store has no account of this provider."
    case .accessNotGranted:
      "This application may not use accounts of this provider, because the person denied it or did not answer."
    case .userCanceledAccountSelection: "No account was chosen, or the only one was not confirmed."
    case .accountBanned: "The provider has suspended or banned this account."
    case .reloginNeeded:
      "The stored credential of this account no longer works and could not be renewed."
    case .notIssuedToThisClient:
      "The account is valid, but no credential was issued to this application's registration yet."
    case .authenticatorUnconfigured:
      "This application's registration at the provider (client id, and secret if needed) is missing."
    case .networkFailure: "The provider could not be reached, or the connection is not safe."
    case .providerFailure: "The provider refused the request or sent an invalid answer."
    case .accountStoreFailure: "The account store cannot be used."
    case .interactionRequired:
      "A person must answer a prompt, and the request does not allow it or the front end does not show its kind."
    case .userCanceled: "A prompt was declined or cancelled."
    case .accessDenied: "The person denied access on the provider's page."
    case .stateMismatch: "The redirect does not belong to this sign-in."
    case .flowExpired: "The time limit of this sign-in has passed."
    case .flowNotSupported: "This provider, or this account, does not support this flow."
    case .wrongCredentials: "The server refused the name or the password."
    case .throttled:
      "The provider limits the number of requests, or the service has just refused the token."
    case .tokenNotSaved: "The provider issued a new token, but it could not be stored."
    case .verificationFailed:
      "The provider's proof of the person's identity, or the assertion for it, is invalid."
    case .unknownProvider: "There is no provider with this id."
    case .unknownAccount: "There is no account with this id."
    case .unknownFlow: "No flow with this id is running."
    case .unknownPrompt: "No prompt with this id is open; outcome is the outcome of a closed one."
    case .promptAlreadyAnswered: "This prompt was answered differently before."
    case .invalidChoice: "This is not among the choices. A prompt stays open."
    case .reservedParameter: "einlass sets this parameter itself, so it cannot be replaced."
    case .bindingMismatch:
      "The account belongs to another address or registration than the one configured now."
    case .unsafeURL:
      "The address is neither https nor loopback, is not public although it has to be, or no provider is known to serve it."
    case .accountExists: "This account is in the store already."
    case .invalidCredential:
      "The credential is not valid, was issued to another application, or proves nobody."
    case .emailAlreadyInUse: "Another user has this e-mail address."
    case .invalidEmail: "The text is no e-mail address."
    case .wrongPassword: "The password of the user is wrong."
    case .tooManyRequests: "The password was wrong several times in a row."
    case .userNotFound: "There is no such user."
    case .accountExistsWithDifferentCredential:
      "Another user has the e-mail address of this sign-in."
    case .requiresRecentLogin: "The change needs a recent sign-in."
    case .providerAlreadyLinked: "The user has an identity of this provider already."
    case .noSuchProvider: "The user does not sign in with this provider."
    case .userMismatch: "The proof is of another person than the current user."
    case .credentialAlreadyInUse: "The identity is linked to a user already."
    case .weakPassword: "The password is shorter than six characters."
    case .missingEmail: "A password needs an e-mail address."
    case .nullUser: "No user is signed in."
    }
  }
}
