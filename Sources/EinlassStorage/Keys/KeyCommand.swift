internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A program that prints the secret of a key slot, such as one that asks a TPM or a smart card:
/// `keyCommand` of the configuration file. The store does not name it, because an edited store
/// would start a program then.
///
/// Its standard error goes nowhere, because it may quote the secret.
struct KeyCommand: Sendable {
  /// The absolute path of the program, and its arguments.
  var words: [String]
  var limitMilliseconds = 5_000

  /// Runs the program twice for a new slot, because a program that prints another key each time
  /// would lock the store up. Throws `keyUnavailable` with the reason.
  func readForNewSlot() throws(Problem) -> Secret {
    let secret = try read()
    guard try read() == secret else { throw failed("printed another key the second time") }
    return secret
  }

  /// Runs the program. Throws `keyUnavailable` with the reason.
  func read() throws(Problem) -> Secret {
    let deadline = Deadline(milliseconds: limitMilliseconds)
    let child: ChildProcess
    do throws(SystemError) {
      child = try ChildProcess(words[0], Array(words.dropFirst()), isQuiet: true)
    } catch { throw failed("cannot be started") }
    child.closeInput()
    let output: [UInt8]
    do throws(FileError) {
      output = try child.output.readToEnd(
        limitBytes: KeyText.limitBytes, by: deadline, path: words[0])
    } catch {
      switch error.cause {
      case .silent: throw tooSlow
      case .tooLong: throw failed("printed more than \(KeyText.limitBytes) bytes")
      default: throw failed("cannot be read")
      }
    }
    guard let code = child.exitCode(within: deadline) else { throw tooSlow }
    guard code == 0 else { throw failed("ended with exit code \(code)") }
    guard !output.isEmpty else { throw failed("printed nothing") }
    guard let secret = KeyText.secret(output) else {
      throw failed("printed no key of 32 bytes, raw or as base64 or hexadecimal text")
    }
    return secret
  }

  private var tooSlow: Problem { failed("did not end within \(limitMilliseconds / 1000) seconds") }

  private func failed(_ why: String) -> Problem {
    .store(
      .keyUnavailable,
      "The program \(words[0]) for the account store's key \(why).", advice: .correctKeyCommand,
      path: words[0])
  }
}
