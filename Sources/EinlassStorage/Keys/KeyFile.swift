internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A private file with the secret of a key slot (0600, in a directory that only this user can
/// enter).
struct KeyFile {
  let path: String
  private let parent: String
  private let name: String

  init(path: String) {
    self.path = path
    (parent, name) = SafeDirectory.split(path)
  }

  /// Returns the path, absolute and without symbolic links. The file's directory must exist.
  func absolutePath() throws(Problem) -> String {
    try FileProblem.key { () throws(FileError) in
      guard let directory = try SafeDirectory.open(parent) else { throw FileError.missing(path) }
      return directory.path(of: name)
    }
  }

  /// Reads the secret of an existing store's slot. A missing file is an error and is never
  /// replaced, because a new key could not open the store.
  func read() throws(Problem) -> Secret {
    let secret = try FileProblem.key { () throws(FileError) -> [UInt8]? in
      guard let directory = try SafeDirectory.open(parent) else { return nil }
      return try bytes(in: directory)
    }
    guard let secret else {
      throw .store(
        .keyUnavailable,
        "The account store's key file \(path) is missing.", advice: .restoreKeyFile,
        path: path)
    }
    return try parse(secret)
  }

  /// Reads the file, or creates it with a new secret.
  func create(awayFrom store: borrowing SafeDirectory) throws(Problem) -> Secret {
    let (secret, isNew) = try prepare(awayFrom: store)
    guard isNew, try !write(secret) else { return secret }
    return try read()
  }

  /// Returns the secret in the file or, if there is no file, a new secret for `write` to store.
  ///
  /// Refuses the store's own directory, because a copy of that directory would include the key.
  func prepare(
    awayFrom store: borrowing SafeDirectory
  ) throws(Problem) -> (secret: Secret, isNew: Bool) {
    let directory = try parentDirectory()
    guard directory.path != store.path else {
      throw .store(
        .refused,
        "The key file \(path) would lie beside the store that it opens.", advice: .nameAnotherPlace,
        path: path)
    }
    if let existing = try FileProblem.key({ () throws(FileError) in try bytes(in: directory) }) {
      return (try parse(existing), false)
    }
    return (SecureRandom.secret(AuthenticatedEncryption.keyCount), true)
  }

  /// Creates the file. Returns `false` if another process has created it first; its secret then
  /// counts.
  func write(_ secret: Secret) throws(Problem) -> Bool {
    let directory = try parentDirectory()
    let text = Array(KeyText.text(secret).utf8)
    let suffix = Hexadecimal.encode(SecureRandom.bytes(8))
    return try FileProblem.key { () throws(FileError) in
      try directory.create(name, text, temporaryName: ".\(name).\(suffix)")
    }
  }

  /// Removes the file after the creation of its store has failed.
  func remove() { (try? parentDirectory())?.remove(name) }

  private func parentDirectory() throws(Problem) -> SafeDirectory {
    try FileProblem.key { () throws(FileError) in try SafeDirectory.create(parent) }
  }

  private func bytes(in directory: borrowing SafeDirectory) throws(FileError) -> [UInt8]? {
    try directory.read(name, limitBytes: KeyText.limitBytes)
  }

  private func parse(_ bytes: [UInt8]) throws(Problem) -> Secret {
    if let secret = KeyText.secret(bytes) { return secret }
    throw .store(
      .keyUnavailable, "The file \(path) does not contain a key. \(KeyText.form)", path: path)
  }
}

/// The text forms of keys in files and on descriptors.
enum KeyText {
  static let limitBytes = 1024
  static let form = "A key has 32 bytes: raw, or as base64 or hexadecimal text."

  /// Returns one line of base64.
  static func text(_ secret: Secret) -> String { Base64.encode(secret.reveal()) + "\n" }

  /// Decodes raw, hexadecimal, base64 or base64url bytes; `nil` for anything else.
  static func secret(_ bytes: [UInt8]) -> Secret? {
    if bytes.count == AuthenticatedEncryption.keyCount { return Secret(bytes) }
    var line = bytes[...]
    while let last = line.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
      line.removeLast()
    }
    let text = String(decoding: line, as: UTF8.self)
    let key = Hexadecimal.decode(text) ?? Base64.decode(text) ?? Base64URL.decode(text)
    guard let key, key.count == AuthenticatedEncryption.keyCount else { return nil }
    return Secret(key)
  }
}
