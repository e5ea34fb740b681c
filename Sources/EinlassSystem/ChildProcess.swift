internal import CSystem
internal import Glibc

/// A program that this process started: pipes to its standard input and from its standard output, its
/// standard error is ours. Not to be used by several threads.
public final class ChildProcess {
  /// Its id, good until it is reaped.
  public let id: Int32
  /// What it writes; readable without waiting where a poller says so.
  public let output: Descriptor
  private var input: Descriptor?
  private var endedWith: Int32?
  private var isOurs = true

  /// Starts the program at this path. Never give a secret as an argument: everybody can read those.
  ///
  /// - Parameters:
  ///   - kept: descriptors that it may use under the same numbers, above 2.
  ///   - isQuiet: what it says on standard error is nobody's.
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

  /// Kills it, unless it has ended or was left.
  deinit {
    guard isOurs else { return }
    signal(SIGKILL)
    _ = exitCode()
  }

  /// Whether all bytes went to it; `false` when it reads no more.
  public func write(_ bytes: [UInt8]) -> Bool {
    (try? input?.writeAll(bytes)) != nil
  }

  /// Says that nothing more comes.
  public func closeInput() { input = nil }

  /// Sends it a signal, unless it is known to have ended.
  public func signal(_ number: Int32) {
    if endedWith == nil { kill(id, number) }
  }

  /// Its exit code, 128 and more for a signal, once it has ended; `nil` when it has not in that time. Its status is
  /// taken away once, later calls answer the same.
  public func exitCode(within deadline: Deadline? = nil) -> Int32? {
    if let endedWith { return endedWith }
    if let deadline, !hasEnded(by: deadline) { return nil }
    endedWith = csystem_reap(id)
    return endedWith
  }

  /// Lets it go on without us.
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

  /// Both ends of a pipe, not passed on to other children.
  private struct Pipe: ~Copyable {
    let reading: Descriptor
    let writing: Descriptor

    init() throws(SystemError) {
      var ends: [Int32] = [-1, -1]
      let result = unsafe csystem_pipe_open(&ends)
      guard result == 0 else { throw SystemError(number: result) }
      reading = Descriptor(owning: ends[0])
      writing = Descriptor(owning: ends[1])
    }
  }
}
