import Einlass
import EinlassCrypto

@testable import EinlassStorage

/// Checks that only unchanged cells and slots of this key open, and that a key has only its defined
/// text forms.
func fuzzSealing(_ input: [UInt8]) {
  var portions = Portions(input)
  let kind = portions.byte()
  switch kind % 4 {
  case 0: openCell(portions.rest)
  case 1: changeCell(&portions)
  case 2: openSlot(&portions)
  default: readTexts(Array(portions.rest))
  }
}

private let root = Secret(Array(repeating: 7, count: 32))
private let key = StoreKey(id: [1, 2, 3, 4], store: "store", root: root)
private let cell = SealedCell(
  table: "credential", column: "token", account: "a_1", binding: [1], row: [2])

private func openCell(_ bytes: ArraySlice<UInt8>) {
  check(key.open(Array(bytes), in: cell) == nil, "a forged cell does not open")
}

/// Checks that a sealed value does not open in another cell, with a changed byte or without its
/// last byte.
private func changeCell(_ portions: inout Portions) {
  let (place, change) = (Int(portions.byte()) << 8 | Int(portions.byte()), portions.byte())
  let plain = Secret(Array(portions.rest))
  var sealed = key.seal(plain, in: cell)
  check(key.open(sealed, in: cell) == plain, "a sealed value opens")
  var other = cell
  other.account += "x"
  check(key.open(sealed, in: other) == nil, "a cell opens nowhere else")
  sealed[place % sealed.count] ^= change
  check((key.open(sealed, in: cell) == nil) == (change != 0), "a changed cell does not open")
  check(key.open(sealed.dropLast(), in: cell) == nil, "a cut cell does not open")
}

private func openSlot(_ portions: inout Portions) {
  let kinds = KeySlot.Kind.allCases
  var slot = KeySlot(
    id: Int64(portions.byte()), kind: kinds[Int(portions.byte()) % kinds.count],
    parameters: portions.text(), salt: portions.field(), wrappedKey: portions.field())
  // Prefixed, because `KeyText` never yields an empty key.
  guard let secret = slotKey(of: Secret([1] + portions.rest), for: slot) else { return }
  check(slot.unwrap(store: "store", with: secret) == nil, "a forged slot does not open")
  let made = KeySlot.wrap(
    root, id: slot.id, kind: slot.kind, parameters: slot.parameters, salt: slot.salt,
    store: "store", with: secret)
  check(made.unwrap(store: "store", with: secret) == root, "a slot opens")
  check(made.unwrap(store: "other", with: secret) == nil, "a slot opens only in its own store")
  slot = made
  slot.parameters += "x"
  check(slot.unwrap(store: "store", with: secret) == nil, "a changed slot does not open")
}

/// Returns the key that opens a slot. For a passphrase it runs scrypt if the parameters are cheap
/// enough.
private func slotKey(of text: Secret, for slot: KeySlot) -> Secret? {
  guard slot.kind == .passphrase else { return text }
  guard let work = ScryptParameters(slot) else { return nil }
  check(work.cost * work.blockSize <= 1 << 23, "scrypt uses at most 1 GiB")
  check(work.blockSize * work.parallelism <= 16, "scrypt parameters are bounded")
  check(ScryptParameters(work.text) == work, "scrypt parameters survive their text form")
  guard work.cost * work.blockSize * work.parallelism <= 256 else { return nil }
  let key = work.key(of: text, salt: slot.salt)
  check(key != nil, "parsed scrypt parameters give a key: \(work.text)")
  return key
}

private func readTexts(_ bytes: [UInt8]) {
  if let secret = KeyText.secret(bytes) {
    check(secret.count == 32, "a key has 32 bytes")
    check(KeyText.secret(Array(KeyText.text(secret).utf8)) == secret, "a key's text is read")
  }
  let items = String(decoding: bytes, as: UTF8.self).split(separator: "\u{0}").map(String.init)
  check(
    TextList.items(TextList.text(items)).elementsEqual(items) { $0.utf8.elementsEqual($1.utf8) },
    "a list survives its text form")
  _ = TextList.items(String(decoding: bytes, as: UTF8.self))
  // Two lists of fields must not have the same bytes.
  let half = bytes.count / 2
  let (left, right) = (Array(bytes[..<half]), Array(bytes[half...]))
  check(
    (Canonical.bytes([left, right]) == Canonical.bytes([right, left])) == (left == right),
    "different fields look different")
}
