/// The methods of the connection itself.
public enum Lifecycle: String, Sendable, CaseIterable {
  /// Ends the connection. Answered after every other request.
  case shutdown
  /// Ends the connection as a notification.
  case exit
  /// Cancels the request with an id. The request is still answered.
  case cancelRequest = "$/cancelRequest"

  /// Their parameters and results, for the protocol document.
  public var descriptor: MethodDescriptor {
    switch self {
    case .shutdown:
      MethodDescriptor(
        rawValue, .immediate,
        "Cancels the running requests, answers every request, and ends; later requests are refused.",
        isBatchable: false)
    case .exit:
      MethodDescriptor(
        rawValue, .immediate, "A notification: ends einlass like shutdown, without an answer.",
        description: exitDescription,
        isBatchable: false)
    case .cancelRequest:
      MethodDescriptor(
        rawValue, .immediate,
        "A notification: the request with this id is still answered, with -32800.",
        params: [.required("id", .any, "The id of a request that is not answered yet.")])
    }
  }
}

private let exitDescription = """
  - The cancelled requests have `by: "shutdown"`. Requests after it are not read. `--finish` does not defer it.
  """
