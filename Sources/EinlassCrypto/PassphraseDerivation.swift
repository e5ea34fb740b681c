import COpenSSL

extension KeyDerivation {
  /// Whose turn it is: many at once would take gigabytes, and be no sooner done.
  private nonisolated(unsafe) static let turn = unsafe CRYPTO_THREAD_lock_new()

  /// scrypt (RFC 7914): a key from a passphrase, which costs `128 * cost * blockSize` bytes and as much work. The
  /// process makes one at a time.
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
    guard let turn = unsafe turn, unsafe CRYPTO_THREAD_write_lock(turn) == 1 else { return nil }
    defer { _ = unsafe CRYPTO_THREAD_unlock(turn) }
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
