import COpenSSL

extension KeyDerivation {
  /// scrypt (RFC 7914): a key from a passphrase, which costs `128 * cost * blockSize` bytes and as much work.
  ///
  /// The parameters are the caller's to judge before; `nil` where the function is not defined for them, or the
  /// memory is not there.
  public static func scrypt(
    passphrase: Secret, salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelism: UInt64,
    count: Int
  ) -> Secret? {
    CryptoLibrary.start()
    // The library's own default, 32 MiB, is less than what is usual for passphrases.
    let memory = 128 * blockSize * (cost + parallelism + 2)
    var isDone = false
    let key = unsafe Secret(count: count) { output in
      let start = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      isDone = unsafe passphrase.withBytes { passphrase in
        let text = unsafe passphrase.baseAddress?.assumingMemoryBound(to: CChar.self)
        return unsafe EVP_PBE_scrypt(
          text, passphrase.count, salt, salt.count, cost, blockSize, parallelism, memory, start,
          count
        ) == 1
      }
    }
    return isDone ? key : nil
  }
}
