import Foundation
import Testing

@testable import EinlassCrypto

@Suite struct SecretTests {
  private let secret = Secret("correct horse battery")

  @Test func `No way of printing shows a secret`() {
    struct Holder {
      var name = "visible"
      var secret: Secret
    }
    var dumped = ""
    dump(Holder(secret: secret), to: &dumped)
    let texts = [
      "\(secret)", String(describing: secret), String(reflecting: secret), secret.description,
      secret.debugDescription, "\(Holder(secret: secret))", "\(Optional(secret) as Any)",
      "\([secret])", dumped,
    ]
    for text in texts {
      #expect(!text.contains("horse"))
      #expect(!text.contains("99, 111"))  // the first bytes as numbers
    }
    // Negative control: printing shows the other property.
    #expect(dumped.contains("visible"))
  }

  @Test func `A secret cannot be encoded`() {
    #expect(!((secret as Any) is any Encodable))
    #expect(!((secret as Any) is any Decodable))
  }

  @Test func `A secret returns its bytes and compares by value`() {
    #expect(secret.reveal() == Array("correct horse battery".utf8))
    #expect(secret == Secret(Array("correct horse battery".utf8)))
    #expect(secret != Secret("correct horse batterz"))
    #expect(secret != Secret("correct horse"))
    #expect(secret.count == 21)
    #expect(Secret("").isEmpty && Secret("") == Secret([]))
  }

  /// 32 bytes fit into the secure heap, 500 do not.
  @Test(arguments: [32, 500])
  func `The memory of a secret is wiped when the last reference is released`(count: Int) throws {
    let memory = open("/proc/self/mem", O_RDONLY)
    try #require(memory >= 0)
    defer { close(memory) }
    /// Returns the number of written bytes that are still at this address.
    func left(at address: Int) -> Int {
      var found = [UInt8](repeating: 0, count: count)
      guard pread(memory, &found, count, off_t(address)) == count else { return 0 }
      return found.indices.count { found[$0] == UInt8(truncatingIfNeeded: $0 * 7 + 13) }
    }
    var secret: Secret? = Secret(count: count) { output in
      for index in 0..<count { output[index] = UInt8(truncatingIfNeeded: index * 7 + 13) }
    }
    let address = try #require(secret?.withBytes { Int(bitPattern: $0.baseAddress) })
    #expect(left(at: address) == count)  // negative control
    secret = nil
    // The next owner of the memory can by chance write some of the same bytes.
    #expect(left(at: address) < count / 4)
  }

  /// In its own process, because other tests fill the secure heap.
  @Test
  func `The memory of keys is locked where the system allows it, and no key is refused`()
    async
  {
    await #expect(processExitsWith: .success) {
      func lockedKilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        return Int(try #require(status.firstMatch(of: /VmLck:\s+(\d+)/)).1) ?? 0
      }
      let before = try lockedKilobytes()
      // More keys than the secure heap holds. The rest are stored in ordinary memory.
      let keys = (0..<5000).map { _ in SecureRandom.secret(32) }
      #expect(Set(keys.map { $0.reveal() }).count == 5000)
      if Secret.isLocked {
        #expect(try lockedKilobytes() > before)
      } else {
        print("skipped: this system locks no memory")
      }
    }
  }

  @Test func `Constant-time comparison agrees with ordinary comparison`() {
    #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
    #expect(constantTimeEqual([], []))
    #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
    #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
  }

  @Test func `Random bytes have the requested length and do not repeat`() {
    #expect(SecureRandom.bytes(0).isEmpty)
    #expect(SecureRandom.bytes(33).count == 33)
    #expect(SecureRandom.bytes(16) != SecureRandom.bytes(16))
    #expect(SecureRandom.secret(32) != SecureRandom.secret(32))
  }
}
