import EinlassSystem
import Foundation
import Testing

/// The user keyring of the kernel, the real one. Every name is new, and every test forgets its own.
@Suite(
  .enabled(if: (try? KernelKeyring.requireAllowed()) != nil, "the kernel refuses keyrings here"))
struct KernelKeyringTests {
  @Test func `Bytes are kept under their name, replaced, and forgotten`() throws {
    let (name, other) = ("einlass-test:\(UUID())", "einlass-test:\(UUID())")
    defer { KernelKeyring.forget(name) }
    #expect(KernelKeyring.read(name, count: 3) == nil)
    try KernelKeyring.keep([1, 2, 3], as: name, seconds: 60)
    #expect(KernelKeyring.read(name, count: 3) == [1, 2, 3])
    #expect(KernelKeyring.read(other, count: 3) == nil)
    for count in [2, 4] { #expect(KernelKeyring.read(name, count: count) == nil) }
    try KernelKeyring.keep([4, 5, 6], as: name, seconds: 60)
    #expect(KernelKeyring.read(name, count: 3) == [4, 5, 6])
    #expect(KernelKeyring.forget(name) && !KernelKeyring.forget(name))
    #expect(KernelKeyring.read(name, count: 3) == nil)
  }

  @Test func `Bytes are readable on every thread`() throws {
    let name = "einlass-test:\(UUID())"
    defer { KernelKeyring.forget(name) }
    try KernelKeyring.keep([7], as: name, seconds: 60)
    let count = Lock(0)
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      if KernelKeyring.read(name, count: 1) == [7] { count.withLock { $0 += 1 } }
    }
    #expect(count.withLock { $0 } == 16)
  }

  @Test func `Bytes end with their time`() async throws {
    let (short, long) = ("einlass-test:\(UUID())", "einlass-test:\(UUID())")
    defer { KernelKeyring.forget(long) }
    try KernelKeyring.keep([1], as: long, seconds: 60)
    try KernelKeyring.keep([1], as: short, seconds: 1)
    // The kernel has the only clock for this.
    for _ in 0..<600 where KernelKeyring.read(short, count: 1) != nil {
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(KernelKeyring.read(short, count: 1) == nil)
    #expect(KernelKeyring.read(long, count: 1) == [1])
  }
}
