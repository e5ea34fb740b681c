import COpenSSL

/// Whether both are equal, in a time that depends only on their lengths.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  unsafe left.count == right.count && crypto.CRYPTO_memcmp(left, right, left.count) == 0
}
