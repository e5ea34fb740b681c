import COpenSSL

/// Bytes that can be neither printed nor encoded, and are wiped when the last reference goes.
///
/// The promise is about this memory alone: what `reveal()` hands out is the caller's.
@safe public final class Secret: @unchecked Sendable {
  private let bytes: UnsafeMutableRawBufferPointer

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
    unsafe bytes = .allocate(byteCount: count, alignment: 16)
    unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
    unsafe fill(bytes)
  }

  deinit {
    unsafe OPENSSL_cleanse(bytes.baseAddress, count)
    unsafe bytes.deallocate()
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
