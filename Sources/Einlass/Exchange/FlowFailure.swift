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
  /// Whether a successful answer to the identity request could not be read.
  var isUnreadable = false
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

  /// Whether an identity request failed before the provider said anything about the person or the
  /// token: the connection, the method, the format or the server is at fault.
  var leavesPersonUnknown: Bool {
    guard remedy == nil, health == nil else { return false }
    let status = problem.serverError?.status ?? 0
    return isUnreadable || problem.reason == .networkFailure || [405, 406].contains(status)
      || status >= 500
  }
}
