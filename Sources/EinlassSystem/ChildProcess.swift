internal import CSystem
internal import Glibc

/// A child process, with pipes to its standard input and from its standard output. It inherits
/// standard error. Used by one thread at a time.
///
/// `posix_spawn` runs in C with default signals and only the named descriptors, because neither may
/// leak to another program. A child is reaped once, and later calls return the same status.
public final class ChildProcess {
  /// The process id, valid until the child is reaped.
  public let id: Int32
  /// The child's standard output.
  public let output: Descriptor
  private var input: Descriptor?
  private var endedWith: Int32?
  private var isOurs = true

  /// Starts the program at this path. Never pass a secret as an argument, because every user can
  /// read the arguments of a process.
  ///
  /// - Parameters:
  ///   - kept: descriptors above 2 that the child inherits under the same numbers.
  ///   - isQuiet: connects standard error to the null device.
  public init(
    _ path: String, _ arguments: [String], keeping kept: [Int32] = [], isQuiet: Bool = false
  ) throws(SystemError) {
    let toChild = try Pipe()
    let fromChild = try Pipe()
    let words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
    defer { _ = unsafe words.map { unsafe free($0) } }
    let result = unsafe csystem_spawn(
      path, words, toChild.reading.number, fromChild.writing.number, kept, Int32(kept.count),
      isQuiet ? 1 : 0)
    guard result > 0 else { throw SystemError(number: -result) }
    id = result
    input = .some(toChild.writing)
    output = fromChild.reading
  }

  /// Kills the child, unless it has ended or `leave` was called.
  deinit {
    guard isOurs else { return }
    signal(SIGKILL)
    _ = exitCode()
  }

  /// Writes all bytes. Returns `false` if the child no longer reads.
  public func write(_ bytes: [UInt8]) -> Bool {
    (try? input?.writeAll(bytes)) != nil
  }

  /// Returns the child's standard input, which this value then no longer writes or closes.
  public func takeInput() -> Descriptor {
    defer { input = nil }
    return input.take() ?? Descriptor(owning: -1)
  }

  /// Closes the child's standard input.
  public func closeInput() { input = nil }

  /// Sends a signal, unless the child is known to have ended.
  public func signal(_ number: Int32) {
    if endedWith == nil { kill(id, number) }
  }

  /// Asks the child to end, by SIGTERM.
  public func terminate() { signal(SIGTERM) }

  /// Returns the exit code, or 128 plus the number of the signal that ended the child. Returns
  /// `nil` if it is still running at the deadline. Reaps the child, and returns the same value on
  /// later calls.
  public func exitCode(within deadline: Deadline? = nil) -> Int32? {
    if let endedWith { return endedWith }
    if let deadline, !hasEnded(by: deadline) { return nil }
    endedWith = csystem_reap(id)
    return endedWith
  }

  /// Lets the child outlive this value.
  public func leave() { isOurs = false }

  private func hasEnded(by deadline: Deadline) -> Bool {
    guard let process = try? ProcessDescriptor(id) else { return true }
    var poller = Poller(slots: 1)
    poller.watch(0, process.number, for: .readable)
    repeat {
      poller.wait(milliseconds: deadline.millisecondsLeft)
    } while !poller.happened(0, .readable) && deadline.millisecondsLeft > 0
    return poller.happened(0, .readable)
  }

  /// A pipe with both ends close-on-exec.
  private struct Pipe: ~Copyable {
    let reading: Descriptor
    let writing: Descriptor

    init() throws(SystemError) {
      let ends = try Descriptor.pipe()
      reading = Descriptor(owning: ends.reading)
      writing = Descriptor(owning: ends.writing)
    }
  }
}
