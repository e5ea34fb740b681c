import COpenSSL

/// Bytes that cannot be printed or encoded, and are wiped when the last reference is released.
///
/// Bytes of a key's size are kept in libcrypto's secure heap: locked where the system allows it,
/// between guard pages, and excluded from core files. This covers only this object's memory, not
/// the copies of `reveal()`.
@safe public final class Secret: @unchecked Sendable {
  private let bytes: UnsafeMutableRawBufferPointer
  private let isInSecureHeap: Bool

  /// The largest secret for the secure heap.
  private static let secureHeapLimit = 64
  private static let secureHeapBytes = 1 << 16
  /// Secrets leave half of the heap to libcrypto, because its TLS connections fail without room
  /// there.
  private static var hasRoom: Bool {
    secureHeap != 0 && crypto.CRYPTO_secure_used() < secureHeapBytes / 2
  }
  /// 1: the heap is locked. 2: it could not be locked. 0: there is none.
  private static let secureHeap = crypto.CRYPTO_secure_malloc_init(secureHeapBytes, 32)

  /// Whether the secure heap is locked, so that it is never swapped out.
  public static var isLocked: Bool { secureHeap == 1 }

  /// The number of bytes. A length is not treated as secret.
  public let count: Int

  /// Whether the secret has no bytes.
  public var isEmpty: Bool { count == 0 }

  /// Copies the bytes. The caller's array is not wiped.
  public convenience init(_ bytes: [UInt8]) {
    unsafe self.init(count: bytes.count) { memory in unsafe memory.copyBytes(from: bytes) }
  }

  /// Copies the text's UTF-8 bytes.
  public convenience init(_ text: String) { self.init(Array(text.utf8)) }

  /// Lets `fill` write the secret in place, so that no other copy exists. Unwritten bytes stay
  /// zero.
  init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    let memory =
      count <= Secret.secureHeapLimit && Secret.hasRoom
      ? unsafe crypto.CRYPTO_secure_malloc(count, #fileID, #line) : nil
    isInSecureHeap = unsafe memory != nil
    unsafe bytes =
      memory.map { unsafe UnsafeMutableRawBufferPointer(start: $0, count: count) }
      ?? .allocate(byteCount: count, alignment: 16)
    unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
    unsafe fill(bytes)
  }

  deinit {
    if isInSecureHeap {
      unsafe crypto.CRYPTO_secure_clear_free(bytes.baseAddress, count, #fileID, #line)
    } else {
      unsafe crypto.OPENSSL_cleanse(bytes.baseAddress, count)
      unsafe bytes.deallocate()
    }
  }

  /// Returns a copy of the bytes. `TidyTests` lists the files that may call this.
  public func reveal() -> [UInt8] { unsafe Array(bytes) }

  /// The bytes in place, for a C library that reads them later. Valid while this object lives.
  /// `TidyTests` lists the files that may use them.
  public var bytesInPlace: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(bytes) }

  /// Calls `body` with the bytes in place, which are valid only during the call.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe body(UnsafeRawBufferPointer(bytes))
  }
}

extension Secret: Equatable {
  /// Compares secrets of equal length in constant time.
  public static func == (left: Secret, right: Secret) -> Bool {
    unsafe left.count == right.count
      && crypto.CRYPTO_memcmp(left.bytes.baseAddress, right.bytes.baseAddress, left.count) == 0
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A fixed word, independent of the content.
  public var description: String { "«redacted»" }
  /// The same fixed word.
  public var debugDescription: String { description }
  /// Without children, so that `dump` prints no bytes.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
