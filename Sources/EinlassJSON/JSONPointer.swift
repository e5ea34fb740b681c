extension JSONValue {
  /// Returns the value at an RFC 6901 pointer (`/user/emails/0`); `nil` if there is none or the
  /// pointer is malformed.
  public func at(pointer: String) -> JSONValue? {
    guard !pointer.isEmpty else { return self }
    guard pointer.utf8.first == UInt8(ascii: "/") else { return nil }
    var value = self
    for token in pointer.utf8.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false) {
      switch value {
      case .object(let object):
        guard let name = unescaped(token), let member = object[name] else { return nil }
        value = member
      case .array(let elements):
        guard let index = arrayIndex(token), index < elements.count else { return nil }
        value = elements[index]
      default: return nil
      }
    }
    return value
  }

  /// RFC 6901 section 4: digits without a leading zero. `-` never refers to an existing element.
  private func arrayIndex(_ token: Substring.UTF8View) -> Int? {
    guard token.allSatisfy({ 0x30...0x39 ~= $0 }), token.count == 1 || token.first != 0x30 else {
      return nil
    }
    return Int(Substring(token))
  }

  /// `~1` is `/` and `~0` is `~`. A tilde before any other character is malformed.
  private func unescaped(_ token: Substring.UTF8View) -> String? {
    guard token.contains(UInt8(ascii: "~")) else { return String(Substring(token)) }
    var bytes: [UInt8] = []
    var iterator = token.makeIterator()
    while let byte = iterator.next() {
      guard byte == UInt8(ascii: "~") else {
        bytes.append(byte)
        continue
      }
      switch iterator.next() {
      case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
      case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
      default: return nil
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Returns the JSON pointer extended by one token, escaped.
public func appending(_ name: String, toPointer pointer: String) -> String {
  let escaped = name.utf8.flatMap { byte -> [UInt8] in
    switch byte {
    case UInt8(ascii: "~"): Array("~0".utf8)
    case UInt8(ascii: "/"): Array("~1".utf8)
    default: [byte]
    }
  }
  return pointer + "/" + String(decoding: escaped, as: UTF8.self)
}
