internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The desktop's keyring (org.freedesktop.secrets), through libsecret's command-line program, so
/// that einlass does not link libsecret; a D-Bus client would be some thousand lines. A secret that
/// is there is used again and never overwritten, because between the two changes nothing would open
/// the slot.
///
/// A locked keyring waits for a person who may be absent, so a time limit applies. The secret is
/// passed over pipes, never on the command line.
struct KeySecretService: Sendable {
  /// Absolute paths, so that the environment cannot choose the program.
  static let usualCommand = [
    "/usr/bin/secret-tool", "/bin/secret-tool", "/usr/local/bin/secret-tool",
  ]
  .first { FileStatus.at($0) != nil }.map { [$0] }

  /// The program and its leading arguments; `nil` if it is not installed.
  var command = usualCommand
  /// The time limit for one call of the program.
  var limitMilliseconds = 3_000

  /// Returns the secret kept for this store. Throws `keyUnavailable`.
  func read(store: String) throws(Problem) -> Secret {
    guard let secret = try kept(for: store) else {
      throw .store(
        .keyUnavailable,
        "No Secret Service is running, its keyring is locked, or it has no key of this account store.",
        advice: .startSecretService
      )
    }
    return secret
  }

  /// Returns the secret kept for this store, or stores a new one and reads it back.
  ///
  /// An existing secret is never overwritten, because it may open a slot that is still in use until
  /// the new slot is committed.
  func make(store: String) throws(Problem) -> Secret {
    if let kept = try kept(for: store) { return kept }
    let secret = SecureRandom.secret(AuthenticatedEncryption.keyCount)
    let answer = try run(
      ["store", "--label=einlass account store", "einlass-store", store],
      input: Array(KeyText.text(secret).utf8))
    guard answer != nil else { throw .noKeyring }
    guard try kept(for: store) == secret else {
      throw .store(
        .keyUnavailable,
        "The Secret Service did not return the secret just stored in it, so it is not used.",
        advice: .useOtherSlot
      )
    }
    return secret
  }

  private func kept(for store: String) throws(Problem) -> Secret? {
    try run(["lookup", "einlass-store", store]).flatMap(KeyText.secret)
  }

  /// Removes the secret of a removed slot from the keyring. Failure is harmless, because the secret
  /// no longer opens anything.
  func forget(store: String) { _ = try? run(["clear", "einlass-store", store]) }

  /// Returns the program's output, or `nil` if it exits with an error. Throws `keyUnavailable` if
  /// it does not exit in time.
  private func run(_ arguments: [String], input: [UInt8] = []) throws(Problem) -> [UInt8]? {
    guard let command else {
      throw .store(
        .keyUnavailable,
        "The program secret-tool is not installed.", advice: .installSecretTool
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
      "No Secret Service is running, or its keyring is locked.", advice: .startSecretService
    )
  }
}
