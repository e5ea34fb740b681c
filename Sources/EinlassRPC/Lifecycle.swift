/// The methods that the connection itself answers.
public enum Lifecycle: String, Sendable, CaseIterable {
  /// Ends the connection: answered when everything else is.
  case shutdown
  /// The same without being asked for an answer.
  case exit
  /// Cancels the request of an id, which still answers.
  case cancelRequest = "$/cancelRequest"

  /// What they take and answer, for the document.
  public var descriptor: MethodDescriptor {
    switch self {
    case .shutdown:
      MethodDescriptor(
        rawValue, .immediate,
        "Cancels what runs, answers everything, and ends; later requests are refused.",
        isBatchable: false)
    case .exit:
      MethodDescriptor(
        rawValue, .immediate, "A notification: ends like the end of input.", isBatchable: false)
    case .cancelRequest:
      MethodDescriptor(
        rawValue, .immediate, "A notification: the request with this id answers -32800.",
        params: [.required("id", .any, "The id of a request that is not answered yet.")])
    }
  }
}
