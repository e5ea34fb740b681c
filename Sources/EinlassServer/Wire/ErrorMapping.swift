internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

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
}
