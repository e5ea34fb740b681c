/// The reason a flow ended without a credential.
enum Setback: Error {
  /// A remedy of the descriptor may help. `advice`: for the person, if it does not.
  case remedy(Remedy, advice: Problem.Advice?)
  case failed(Failure)
}

/// A final failure of a flow.
struct Failure: Equatable {
  var problem: Problem
  /// The account's health according to the answer; `nil` if the answer does not tell.
  var health: Account.Health?
  /// Whether the provider refused the credential itself, not the request around it.
  var refusesCredential = false
  /// Whether the provider refused with 400 and an empty body.
  var isWordless = false
  /// The device code's state, from one of the provider's error rules.
  var deviceState: DeviceState?

  init(_ problem: Problem, health: Account.Health? = nil, refusesCredential: Bool = false) {
    self.problem = problem
    self.health = health
    self.refusesCredential = refusesCredential
  }
}
