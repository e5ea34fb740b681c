/// Why a flow did not end in a credential.
enum Setback: Error {
  /// A remedy of the descriptor's may help. `advice`: what to tell the person if it does not.
  case remedy(Remedy, advice: Problem.Advice?)
  case failed(Failure)
}

/// A flow's end without a credential.
struct Failure: Equatable {
  var problem: Problem
  /// What the provider's answer says about the account; `nil` when nothing.
  var health: Account.Health?
  /// Whether the provider refused the credential itself, not the request around it.
  var refusesCredential = false
  /// Whether the provider refused with 400 and an empty body.
  var isWordless = false
  /// What the provider said of a device's code, in words of its own.
  var deviceState: DeviceState?

  init(_ problem: Problem, health: Account.Health? = nil, refusesCredential: Bool = false) {
    self.problem = problem
    self.health = health
    self.refusesCredential = refusesCredential
  }
}
