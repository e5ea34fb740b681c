/// The first of several ways to come to something, or to fail; the others are cancelled. A way that comes to `nil` has
/// only ended. When all have, it is this problem.
func first<Success: Sendable>(
  of ways: [@Sendable () async -> Result<Success?, Problem>], or problem: Problem
) async throws(Setback) -> Success {
  let result = await withTaskGroup(of: Result<Success?, Problem>.self) { group in
    // In their order: a person is shown a page before being asked what stands there.
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
  case .success(nil): throw .failed(Failure(problem))
  case .failure(let problem): throw .failed(Failure(problem))
  }
}

/// What the work comes to, as one of several ways.
func outcome<Success>(
  _ work: () async throws(Problem) -> Success?
) async -> Result<Success?, Problem> {
  do throws(Problem) { return .success(try await work()) } catch { return .failure(error) }
}
