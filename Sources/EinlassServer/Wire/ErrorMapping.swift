internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

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
}

extension RPCError {
  /// Makes the protocol's error for a problem. `application` is the one that the prompts name.
  init(_ problem: Problem, flow: String? = nil, for application: String = "") {
    self.init(
      code: problem.reason.code, reason: problem.reason.word, problem.message,
      isRetryable: problem.isRetryable,
      data: JSONObject(present: [
        "detail": problem.detail.map(JSONValue.string),
        "provider": problem.provider.map(JSONValue.string),
        "account": problem.account.map { .string($0.rawValue) },
        "flow": flow.map(JSONValue.string),
        "path": problem.path.map(JSONValue.string),
        "holder": problem.holder.map { JSONValue(Int64($0)) },
        "networkCode": problem.networkCode.map { JSONValue(Int64($0)) },
        "retryAfterSeconds": problem.retryAfterSeconds.map { JSONValue(Int64($0)) },
        "serverError": problem.serverError.map(JSONValue.init(serverError:)),
        "identity": problem.identity.map { JSONValue($0) },
        "email": problem.collision?.email.map(JSONValue.string),
        "providers": problem.collision.flatMap {
          $0.providers.isEmpty ? nil : JSONValue($0.providers)
        },
        "pendingCredential": problem.collision?.pendingCredential.map(JSONValue.string),
        "prompts": problem.reason == .interactionRequired
          ? .array(
            problem.neededPrompts.map { JSONValue(needed: $0, for: application) }
              + problem.neededKinds.map { ["kind": .string($0.rawValue)] }) : nil,
      ]))
    data.set(next: problem.nextSteps(for: application))
    needsPerson = !problem.neededPrompts.isEmpty
  }
}

extension JSONValue {
  fileprivate init(serverError: Problem.ServerError) {
    self = .object(
      JSONObject(present: [
        "status": serverError.status.map { JSONValue(Int64($0)) },
        "code": serverError.code.map(JSONValue.string),
        "subcode": serverError.subcode.map(JSONValue.string),
        "text": serverError.text.map(JSONValue.string),
      ]))
  }

  /// Makes a needed prompt that could not be shown, with the parameter, method or option that
  /// replaces it.
  fileprivate init(needed prompt: Prompt, for application: String) {
    var object = JSONObject()
    object["kind"] = .string(prompt.kind.rawValue)
    switch prompt {
    case .grantAccess: object["method"] = "access.set"
    case .selectAccount, .replaceAccount: object["parameter"] = "account"
    case .confirmAccount: object["parameter"] = "confirm"
    case .openURL, .deviceCode, .enterVerifier, .enterPassword: break
    case .trustCertificate: object["parameter"] = "server.trustedPublicKey"
    case .enterPassphrase(let wanted): object["option"] = .string(wanted.option)
    }
    for member in prompt.fitted(for: application).wireMembers(for: application).members {
      object[member.name] = member.value
    }
    self = .object(object)
  }
}
