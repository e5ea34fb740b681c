import EinlassSystem
import Foundation
import Testing

/// Reading and writing without being held up.
struct DescriptorTests {
  @Test("a pipe is filled without waiting, and takes more when there is room")
  func fillsPipe() throws {
    let pipe = Pipe()
    let descriptor = try Descriptor.duplicate(pipe.fileHandleForWriting.fileDescriptor)
    let bytes = [UInt8](repeating: 0x61, count: 100_000)
    #expect(descriptor.writeWithoutWaiting(bytes, 0..<bytes.count) == .bytes(65_536))
    #expect(descriptor.writeWithoutWaiting(bytes, 0..<1) == .wouldWait)
    _ = try pipe.fileHandleForReading.read(upToCount: 4095)
    #expect(descriptor.writeWithoutWaiting(bytes, 0..<1) == .wouldWait)
    _ = try pipe.fileHandleForReading.read(upToCount: 1)
    #expect(descriptor.writeWithoutWaiting(bytes, 0..<bytes.count) == .bytes(4096))
    #expect(descriptor.writeWithoutWaiting(bytes, 0..<1) == .wouldWait)
    #expect(fcntl(descriptor.number, F_GETFL) & O_NONBLOCK == 0)
  }

  @Test("what somebody has told not to wait is waited for")
  func waits() throws {
    let pipe = Pipe()
    let (input, output) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
    for end in [input, output] { _ = fcntl(end.fileDescriptor, F_SETFL, O_NONBLOCK) }
    let descriptor = try Descriptor.duplicate(input.fileDescriptor)
    let bytes = [UInt8](repeating: 0x61, count: 200_000)
    let isWritten = DispatchGroup()
    DispatchQueue.global().async(group: isWritten) {
      // More than a pipe holds, to who reads before anything is there.
      try? Descriptor.duplicate(output.fileDescriptor).writeAll(bytes)
      try? output.close()
    }
    #expect(descriptor.readAll(limitBytes: bytes.count) == bytes)
    isWritten.wait()
  }

  @Test("writing to nobody fails instead of ending the process")
  func brokenPipe() throws {
    signal(SIGPIPE, SIG_IGN)
    let pipe = Pipe()
    let descriptor = try Descriptor.duplicate(pipe.fileHandleForWriting.fileDescriptor)
    try pipe.fileHandleForReading.close()
    #expect(descriptor.writeWithoutWaiting([1], 0..<1) == .failed(SystemError(number: EPIPE)))
  }

  @Test("duplicates are private: numbers from 3 on, not passed to children")
  func duplicates() throws {
    let descriptor = try Descriptor.duplicate(2)
    #expect(descriptor.number >= 3)
    #expect(fcntl(descriptor.number, F_GETFD) & FD_CLOEXEC != 0)
    #expect(throws: SystemError(number: EBADF)) { _ = try Descriptor.duplicate(-1).number }
  }

  @Test("an alarm rings once, a wake-up until it is cleared, and a process when it has ended")
  func events() throws {
    let alarm = try Alarm()
    let wakeUp = try WakeUp()
    let child = Process()
    let input = Pipe()
    child.executableURL = URL(fileURLWithPath: "/bin/cat")
    child.standardInput = input
    try child.run()
    // Of a process that ends by itself Foundation might have taken the status before we could watch it.
    let process = try ProcessDescriptor(child.processIdentifier)
    try input.fileHandleForWriting.close()
    var poller = Poller(slots: 3)
    for (slot, number) in [alarm.number, wakeUp.number, process.number].enumerated() {
      poller.watch(slot, number, for: .readable)
      alarm.set(after: .milliseconds(1))
      wakeUp.ring()
      while !poller.happened(slot, .readable) { poller.wait(milliseconds: 20_000) }
    }
    alarm.stop()
    wakeUp.clear()
    poller.wait(milliseconds: 0)
    #expect(!poller.happened(0, .readable) && !poller.happened(1, .readable))
    child.waitUntilExit()
    #expect(throws: SystemError.self) { _ = try ProcessDescriptor(Int32.max).number }
  }
}
