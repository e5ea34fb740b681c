internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A private file (0600, in a directory of this user's alone) that holds what opens a store's key.
struct KeyFile {
  let path: String
  private let parent: String
  private let name: String

  init(path: String) {
    self.path = path
    (parent, name) = SafeDirectory.split(path)
  }

  /// The path, absolute and without symbolic links; the file must exist.
  func absolutePath() throws(Problem) -> String {
    try FileProblem.key { () throws(FileError) in
      guard let directory = try SafeDirectory.open(parent) else { throw FileError.missing(path) }
      return directory.path(of: name)
    }
  }

  /// What an existing store's slot is opened with; a missing file is never replaced.
  func read() throws(Problem) -> Secret {
    let secret = try FileProblem.key { () throws(FileError) -> [UInt8]? in
      guard let directory = try SafeDirectory.open(parent) else { return nil }
      return try bytes(in: directory)
    }
    guard let secret else {
      throw .store(
        .keyUnavailable,
        "The account store's key file \(path) is missing. Put it back, or move the store away to start afresh.",
        path: path)
    }
    return try parse(secret)
  }

  /// Reads it, or makes it when there is none.
  func create(awayFrom store: borrowing SafeDirectory) throws(Problem) -> Secret {
    let (secret, isNew) = try prepare(awayFrom: store)
    guard isNew, try !write(secret) else { return secret }
    return try read()
  }

  /// The key in the file, or, when there is none, a new key that `write` puts there.
  ///
  /// Refuses the store's own directory, because a copy of it would carry the key along.
  func prepare(
    awayFrom store: borrowing SafeDirectory
  ) throws(Problem) -> (secret: Secret, isNew: Bool) {
    let directory = try parentDirectory()
    guard directory.path != store.path else {
      throw .store(
        .refused,
        "The key file \(path) would lie beside the store that it opens. Name another directory.",
        path: path)
    }
    if let existing = try FileProblem.key({ () throws(FileError) in try bytes(in: directory) }) {
      return (try parse(existing), false)
    }
    return (SecureRandom.secret(AuthenticatedEncryption.keyCount), true)
  }

  /// Makes the file. `false` when somebody else was first and made the key that all use.
  func write(_ secret: Secret) throws(Problem) -> Bool {
    let directory = try parentDirectory()
    let text = Array(KeyText.text(secret).utf8)
    let suffix = Hexadecimal.encode(SecureRandom.bytes(8))
    return try FileProblem.key { () throws(FileError) in
      try directory.create(name, text, temporaryName: ".\(name).\(suffix)")
    }
  }

  /// Removes the file of a store that could not be made.
  func remove() { (try? parentDirectory())?.remove(name) }

  private func parentDirectory() throws(Problem) -> SafeDirectory {
    try FileProblem.key { () throws(FileError) in try SafeDirectory.create(parent) }
  }

  private func bytes(in directory: borrowing SafeDirectory) throws(FileError) -> [UInt8]? {
    try directory.read(name, limitBytes: KeyText.limitBytes)
  }

  private func parse(_ bytes: [UInt8]) throws(Problem) -> Secret {
    if let secret = KeyText.secret(bytes) { return secret }
    throw .store(.keyUnavailable, "The file \(path) holds no key. \(KeyText.form)", path: path)
  }
}

/// How keys are written in files and handed in on descriptors.
enum KeyText {
  /// More than any form of a key needs.
  static let limitBytes = 1024
  /// What is taken, as a sentence.
  static let form = "It takes 32 bytes: raw, or as base64 or hexadecimal text."

  /// One line of base64.
  static func text(_ secret: Secret) -> String { Base64.encode(secret.reveal()) + "\n" }

  /// The key, in whichever form it came; `nil` when it is none.
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
