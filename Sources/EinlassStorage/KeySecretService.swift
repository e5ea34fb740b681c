internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The desktop's keyring (org.freedesktop.secrets), asked by libsecret's own program, so that nothing is linked.
///
/// Whatever the keyring does, an answer comes within three seconds: a locked one waits for a person who may not
/// be there. The secret goes over pipes, never over the command line.
struct KeySecretService: Sendable {
  /// The program where it may be; nothing of the environment counts.
  static let usualCommand = [
    "/usr/bin/secret-tool", "/bin/secret-tool", "/usr/local/bin/secret-tool",
  ]
  .first { FileStatus.at($0) != nil }.map { [$0] }

  /// The program and what always stands behind it; `nil` where there is none.
  var command = usualCommand
  /// How long it may take to answer (C-38).
  var limitMilliseconds = 3_000

  /// What is kept for this store. Throws `keyUnavailable`.
  func read(store: String) throws(Problem) -> Secret {
    guard let secret = try kept(for: store) else {
      throw .store(
        .keyUnavailable,
        "No Secret Service runs here, its keyring is locked, or it keeps no key of this account store. Start or unlock it, or open the store by another slot."
      )
    }
    return secret
  }

  /// What is kept for this store, or a new secret, once it is really there (C-38).
  ///
  /// Nothing is written over: what it opens would be lost with whatever happens before there is another slot.
  func make(store: String) throws(Problem) -> Secret {
    if let kept = try kept(for: store) { return kept }
    let secret = SecureRandom.secret(AuthenticatedEncryption.keyCount)
    let answer = try run(
      ["store", "--label=einlass account store", "einlass-store", store],
      input: Array(KeyText.text(secret).utf8))
    guard answer != nil else { throw .noKeyring }
    guard try kept(for: store) == secret else {
      throw .store(
        .keyUnavailable, "The Secret Service answers something else than it was given. Not used.")
    }
    return secret
  }

  private func kept(for store: String) throws(Problem) -> Secret? {
    try run(["lookup", "einlass-store", store]).flatMap(KeyText.secret)
  }

  /// Keeps nothing for this store any more, if the keyring can be had: what it kept opens nothing then either.
  func forget(store: String) { _ = try? run(["clear", "einlass-store", store]) }

  /// What the program writes when it is given this; `nil` unless it ends well. Throws `keyUnavailable` unless it ends in
  /// time.
  private func run(_ arguments: [String], input: [UInt8] = []) throws(Problem) -> [UInt8]? {
    guard let command else {
      throw .store(
        .keyUnavailable,
        "The Secret Service is asked by the program secret-tool, which is not here. Install libsecret-tools."
      )
    }
    let deadline = Deadline(milliseconds: limitMilliseconds)
    do {
      let child = try ChildProcess(command[0], command.dropFirst() + arguments, isQuiet: true)
      _ = child.write(input)
      child.closeInput()
      let output = try child.output.readToEnd(
        limitBytes: KeyText.limitBytes, by: deadline, path: command[0])
      if let code = child.exitCode(within: deadline) { return code == 0 ? output : nil }
    } catch {}
    throw .noKeyring
  }
}

extension Problem {
  fileprivate static var noKeyring: Problem {
    .store(
      .keyUnavailable,
      "No Secret Service runs here, or its keyring is locked. Start or unlock it, or open the store by another slot."
    )
  }
}
