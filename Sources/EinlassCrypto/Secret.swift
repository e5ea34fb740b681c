import COpenSSL

/// Bytes that can be neither printed nor encoded, and are wiped when the last reference goes.
///
/// What has the size of a key lies in libcrypto's secure heap: locked where the system allows it, between guard
/// pages, in no core file. The promise is about this memory alone: what `reveal()` hands out is the caller's.
@safe public final class Secret: @unchecked Sendable {
  private let bytes: UnsafeMutableRawBufferPointer
  private let isInSecureHeap: Bool

  /// The longest that goes to the secure heap, while there is room.
  private static let secureHeapLimit = 64
  private static let secureHeapBytes = 1 << 16
  /// Secrets leave the other half to libcrypto, which makes no TLS connection without it.
  private static var hasRoom: Bool {
    secureHeap != 0 && CRYPTO_secure_used() < secureHeapBytes / 2
  }
  /// 1: there is a heap, and it is locked; 2: one that could not be locked; 0: none.
  private static let secureHeap: Int32 = {
    CryptoLibrary.start()
    return CRYPTO_secure_malloc_init(secureHeapBytes, 32)
  }()

  /// Whether the memory of keys can never be swapped out.
  public static var isLocked: Bool { secureHeap == 1 }

  /// How many bytes it holds. A length is not treated as secret.
  public let count: Int

  /// Whether there is nothing in it.
  public var isEmpty: Bool { count == 0 }

  /// Copies the bytes; the caller's own array is left as it is.
  public convenience init(_ bytes: [UInt8]) {
    unsafe self.init(count: bytes.count) { memory in unsafe memory.copyBytes(from: bytes) }
  }

  /// The text's UTF-8 bytes.
  public convenience init(_ text: String) { self.init(Array(text.utf8)) }

  /// Lets `fill` write memory that nobody else has seen; unwritten bytes stay zero.
  init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    let memory =
      count <= Secret.secureHeapLimit && Secret.hasRoom
      ? unsafe CRYPTO_secure_malloc(count, #fileID, #line) : nil
    isInSecureHeap = unsafe memory != nil
    unsafe bytes =
      memory.map { unsafe UnsafeMutableRawBufferPointer(start: $0, count: count) }
      ?? .allocate(byteCount: count, alignment: 16)
    unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
    unsafe fill(bytes)
  }

  deinit {
    if isInSecureHeap {
      unsafe CRYPTO_secure_clear_free(bytes.baseAddress, count, #fileID, #line)
    } else {
      unsafe OPENSSL_cleanse(bytes.baseAddress, count)
      unsafe bytes.deallocate()
    }
  }

  /// A copy of the bytes themselves. The tidy test lists the files that may call it.
  public func reveal() -> [UInt8] { unsafe Array(bytes) }

  /// The bytes without a copy, for as long as `body` runs.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe body(UnsafeRawBufferPointer(bytes))
  }
}

extension Secret: Equatable {
  /// Takes the same time wherever the first difference is.
  public static func == (left: Secret, right: Secret) -> Bool {
    unsafe left.count == right.count
      && CRYPTO_memcmp(left.bytes.baseAddress, right.bytes.baseAddress, left.count) == 0
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always the same word, whatever is inside.
  public var description: String { "«redacted»" }
  /// As `description`.
  public var debugDescription: String { description }
  /// Without children, so that `dump` shows nothing either.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
