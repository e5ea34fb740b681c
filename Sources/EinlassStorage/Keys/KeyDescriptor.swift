internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A secret that the parent process passes on a file descriptor. It is read once, and the
/// descriptor is closed, because its number may soon belong to another file.
final class KeyDescriptor: Sendable {
  let number: Int32
  private let limitBytes: Int
  private let what: String
  private let parse: @Sendable ([UInt8]) -> Secret?
  private let fetched = Lock(Fetched.nothing)

  private enum Fetched {
    case nothing
    case secret(Secret)
    case failure(Problem)
  }

  /// - Parameters:
  ///   - what: the expected content, as the end of an error message, and its form as a sentence.
  ///   - parse: converts the bytes to the secret; `nil` if they are malformed.
  init(
    _ number: Int32, limitBytes: Int, what: String,
    parse: @escaping @Sendable ([UInt8]) -> Secret?
  ) {
    self.number = number
    self.limitBytes = limitBytes
    self.what = what
    self.parse = parse
  }

  /// Reads the descriptor on the first call and returns the secret. Returns `nil` if that would
  /// exceed the deadline. Throws `keyUnavailable`.
  func fetch(by deadline: Deadline) throws(Problem) -> Secret? {
    let secret = try fetched.withLock(by: deadline) { fetched throws(Problem) -> Secret? in
      if case .nothing = fetched, deadline.millisecondsLeft > 0 {
        do throws(Problem) { fetched = .secret(try read(by: deadline)) } catch {
          fetched = .failure(error)
        }
      }
      return try Self.secret(fetched)
    }
    return secret ?? nil
  }

  /// The result of an earlier `fetch`; `nil` before it.
  var secret: Secret? {
    get throws(Problem) {
      try fetched.withLock { fetched throws(Problem) in try Self.secret(fetched) }
    }
  }

  private static func secret(_ fetched: Fetched) throws(Problem) -> Secret? {
    switch fetched {
    case .nothing: return nil
    case .secret(let secret): return secret
    case .failure(let problem): throw problem
    }
  }

  private func read(by deadline: Deadline) throws(Problem) -> Secret {
    let bytes = try FileProblem.key { () throws(FileError) in
      try NamedDescriptor.readAndClose(number, limitBytes: limitBytes, by: deadline)
    }
    guard let secret = parse(bytes) else {
      throw .store(.keyUnavailable, "Descriptor \(number) does not contain a \(what)")
    }
    return secret
  }
}
