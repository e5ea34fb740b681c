/// Runs the closures concurrently and returns the first value or throws the first error; the others
/// are cancelled. A closure that returns `nil` is ignored. Throws `problem` when all return `nil`.
func first<Success: Sendable>(
  of ways: [@Sendable () async -> Result<Success?, Problem>], or problem: Problem
) async throws(FlowFailure) -> Success {
  let result = await withTaskGroup(of: Result<Success?, Problem>.self) { group in
    // Immediate tasks start in this order: the person sees a page before the question about it.
    for way in ways { group.addImmediateTask(operation: way) }
    for await result in group {
      if case .success(nil) = result { continue }
      group.cancelAll()
      return result
    }
    return .failure(problem)
  }
  switch result {
  case .success(let success?): return success
  case .success(nil): throw FlowFailure(problem)
  case .failure(let problem): throw FlowFailure(problem)
  }
}

/// Returns the result of the work, in the form that `first(of:or:)` takes.
func outcome<Success>(
  _ work: () async throws(Problem) -> Success?
) async -> Result<Success?, Problem> {
  do throws(Problem) { return .success(try await work()) } catch { return .failure(error) }
}
