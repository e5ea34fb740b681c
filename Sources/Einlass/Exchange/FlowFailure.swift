/// The failure of a flow or of a check: the problem, and its effect on the stored credential.
struct FlowFailure: Error, Equatable {
  var problem: Problem
  /// The remedy of the descriptor to try; `nil` if the failure is final.
  var remedy: Remedy?
  /// The account's health according to the answer; `nil` if the answer does not tell.
  var health: Account.Health?
  /// Whether the provider refused the credential itself, not the request around it.
  var refusesCredential = false
  /// Whether the provider refused with 400 and an empty body.
  var isWordless = false
  /// The device code's state, from one of the provider's error rules.
  var deviceState: DeviceState?

  init(
    _ problem: Problem, remedy: Remedy? = nil, health: Account.Health? = nil,
    refusesCredential: Bool = false
  ) {
    self.problem = problem
    self.remedy = remedy
    self.health = health
    self.refusesCredential = refusesCredential
  }
}
