import COpenSSL

extension KeyDerivation {
  /// Returns a key from a passphrase by scrypt (RFC 7914), which needs `128 * cost * blockSize`
  /// bytes of memory and work in proportion.
  ///
  /// The caller checks the parameters first. `nil` for parameters that scrypt does not allow, or if
  /// there is not enough memory.
  public static func scrypt(
    passphrase: Secret, salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelism: UInt64,
    count: Int
  ) -> Secret? {
    // The library's default limit of 32 MiB is less than a usual passphrase needs.
    let memory = 128 * blockSize * (cost + parallelism + 2)
    var isDone = false
    let key = unsafe Secret(count: count) { output in
      let start = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      isDone = unsafe passphrase.withBytes { passphrase in
        let text = unsafe passphrase.baseAddress?.assumingMemoryBound(to: CChar.self)
        return unsafe crypto.EVP_PBE_scrypt(
          text, passphrase.count, salt, salt.count, cost, blockSize, parallelism, memory, start,
          count
        ) == 1
      }
    }
    return isDone ? key : nil
  }
}
