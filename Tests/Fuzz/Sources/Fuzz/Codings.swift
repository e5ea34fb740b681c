import EinlassJSON

@testable import Einlass

/// Checks that each decoder returns the encoder's input, and refuses text outside the coding.
func fuzzCodings(_ input: [UInt8]) {
  var percent: [UInt8] = []
  PercentEncoding.append(input, to: &percent)
  check(PercentEncoding.decode(percent) == input, "percent")
  check(Base64.decode(Base64.encode(input)) == input, "base 64")
  check(Base64URL.decode(Base64URL.encode(input)) == input, "base 64 of URLs")
  check(Hexadecimal.decode(Hexadecimal.encode(input)) == input, "hexadecimal")
  let text = String(decoding: input, as: UTF8.self)
  if let bytes = Base64.decode(text) { check(sameBytes(Base64.encode(bytes), text), "one base 64") }
  if let bytes = Base64URL.decode(text) {
    check(sameBytes(Base64URL.encode(bytes), text), "one base 64 of URLs")
  }
  for plus in [FormEncoding.Plus.plus, .space] {
    guard let fields = FormEncoding.decode(input, plus: plus) else { continue }
    roundTrip(fields, plus)
  }
  checkCleaning(text)
  checkAddress(text, input)
  if let parameters = AuthorizationHeader.parse(text) {
    let again = AuthorizationHeader.parse(AuthorizationHeader.format(parameters))
    check(isSame(again, parameters), "a header survives its text form")
  }
}

private func roundTrip(_ fields: [Parameter], _ plus: FormEncoding.Plus) {
  let encoded = FormEncoding.encode(fields)
  check(
    isSame(FormEncoding.decode(encoded.utf8, plus: plus), fields),
    "a form survives its text form")
  check(
    encoded.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a form is visible ASCII")
  let address = WebAddress(scheme: .https, host: "a.example")
  let base = SignatureBase.text(method: "GET", address: address, parameters: fields)
  check(base.utf8.filter { $0 == UInt8(ascii: "&") }.count == 2, "a base string has three parts")
  check(
    sameBytes(
      base,
      SignatureBase.text(method: "GET", address: address, parameters: fields.reversed())),
    "the order of parameters changes nothing")
}

private func checkCleaning(_ text: String) {
  let clean = cleaned(text)
  check(clean.utf8.count <= 1024, "cleaned text is short")
  check(sameBytes(cleaned(clean), clean), "cleaned text is clean")
  if isIdentifier(text) { check(sameBytes(clean, text), "an identifier is clean") }
}

private func checkAddress(_ text: String, _ input: [UInt8]) {
  guard let address = try? WebAddress.parse(text) else { return }
  check((try? WebAddress.parse(address.text)) == address, "an address survives its text form")
  let base = SignatureBase.text(
    method: "POST", address: address, parameters: [Parameter("a", "b")])
  let parts = base.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
  check(parts.count == 3, "a base string has three parts")
  let uri = PercentEncoding.decode(parts[1]).map { String(decoding: $0, as: UTF8.self) }
  check(sameBytes(uri ?? "", SignatureBase.uri(of: address)), "the middle part is the address")
}

private func isSame(_ left: [Parameter]?, _ right: [Parameter]) -> Bool {
  guard let left else { return false }
  return left.elementsEqual(right) {
    sameBytes($0.name, $1.name) && sameBytes($0.value, $1.value)
  }
}
