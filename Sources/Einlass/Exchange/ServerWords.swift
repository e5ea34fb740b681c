internal import EinlassCrypto
internal import EinlassJSON

extension Problem.ServerError {
  /// The provider's own error, for display: without control characters or these secrets, and with
  /// at most 200 bytes of text.
  ///
  /// A body of unknown shape is quoted only if it is plain text. For HTML and unknown JSON the
  /// status is the only information.
  init(_ response: HTTPResponse, _ errorText: ProviderErrorText?, hiding secrets: [Secret]) {
    func shown(_ text: String, limitBytes: Int) -> String? {
      let text = hiding(secrets, in: cleaned(text, limitBytes: 16 << 10))
      let shown = cleaned(withoutTokens(text), limitBytes: limitBytes)
      return shown.isEmpty ? nil : shown
    }
    func code(_ value: JSONValue?) -> String? {
      (value?.int64.map { String($0) } ?? value?.string).flatMap { shown($0, limitBytes: 64) }
    }
    self.init(
      status: response.status, code: code(errorText?.code), subcode: code(errorText?.subcode),
      text: (errorText.map(\.text) ?? plainText(response.body)).flatMap {
        shown($0, limitBytes: 200)
      })
    oauthCode = errorText?.code?.string.flatMap(OAuthCode.init)
  }
}

/// Returns the body if it is text and neither markup nor JSON.
private func plainText(_ body: [UInt8]) -> String? {
  guard body.count <= 16 << 10, let first = body.first(where: { $0 > 0x20 }),
    !"<{[".utf8.contains(first)
  else {
    return nil
  }
  return String(validating: body, as: UTF8.self)
}

/// Replaces runs of 32 or more token characters with "…", because such a run may be a secret.
private func withoutTokens(_ text: String) -> String {
  var result: [UInt8] = []
  var run: [UInt8] = []
  func endRun() {
    result += run.count < 32 ? run : Array("…".utf8)
    run = []
  }
  for byte in text.utf8 {
    if isTokenCharacter(byte) {
      run.append(byte)
    } else {
      endRun()
      result.append(byte)
    }
  }
  endRun()
  return String(decoding: result, as: UTF8.self)
}

private func isTokenCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
    UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "%"), UInt8(ascii: "|"):
    true
  default: false
  }
}
