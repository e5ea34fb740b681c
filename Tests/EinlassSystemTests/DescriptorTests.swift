import EinlassSystem
import Foundation
import Testing

struct DescriptorTests {
  @Test("Writing without waiting fills a pipe, and writes more when there is room")
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

  @Test("A non-blocking descriptor is still read and written to the end")
  func waits() throws {
    let pipe = Pipe()
    let (input, output) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
    for end in [input, output] { _ = fcntl(end.fileDescriptor, F_SETFL, O_NONBLOCK) }
    let descriptor = try Descriptor.duplicate(input.fileDescriptor)
    let bytes = [UInt8](repeating: 0x61, count: 200_000)
    let isWritten = DispatchGroup()
    DispatchQueue.global().async(group: isWritten) {
      // More than a pipe holds, so that the writer must wait for the reader.
      try? Descriptor.duplicate(output.fileDescriptor).writeAll(bytes)
      try? output.close()
    }
    #expect(descriptor.readAll(limitBytes: bytes.count) == bytes)
    isWritten.wait()
  }

  @Test("Writing to a closed pipe fails instead of ending the process")
  func brokenPipe() throws {
    signal(SIGPIPE, SIG_IGN)
    let pipe = Pipe()
    let descriptor = try Descriptor.duplicate(pipe.fileHandleForWriting.fileDescriptor)
    try pipe.fileHandleForReading.close()
    #expect(descriptor.writeWithoutWaiting([1], 0..<1) == .failed(SystemError(number: EPIPE)))
  }

  @Test("Duplicates have numbers from 3 on and are not passed to children")
  func duplicates() throws {
    let descriptor = try Descriptor.duplicate(2)
    #expect(descriptor.number >= 3)
    #expect(fcntl(descriptor.number, F_GETFD) & FD_CLOEXEC != 0)
    #expect(throws: SystemError(number: EBADF)) { _ = try Descriptor.duplicate(-1).number }
  }

  @Test("An alarm rings once, a wake-up until it is cleared, and a process when it has ended")
  func events() throws {
    let alarm = try Alarm()
    let wakeUp = try WakeUp()
    let child = Process()
    let input = Pipe()
    child.executableURL = URL(fileURLWithPath: "/bin/cat")
    child.standardInput = input
    try child.run()
    // A process that ends by itself could be reaped by Foundation before the test can watch it.
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
