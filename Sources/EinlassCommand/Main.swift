internal import Einlass
internal import EinlassCrypto
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassNetwork
internal import EinlassRPC
internal import EinlassServer
internal import EinlassStorage
internal import EinlassSystem
internal import Glibc

/// The program `einlass`: options and wiring only.
@main
enum EinlassCommand {
  /// The exit codes, from sysexits.h where it has one.
  enum ExitCode {
    static let ok: Int32 = 0
    static let failed: Int32 = 1
    static let usage: Int32 = 64
    static let `internal`: Int32 = 70
    static let configuration: Int32 = 78
  }

  static func main() {
    exit(run())
  }

  /// The statements that make the tables of the store of the options.
  private static func schema(_ options: Options) throws(Wiring.Refusal) -> String {
    guard let store = options.store, PostgresAccountStore.isAddress(store) else {
      throw .usage("--dump-schema needs --store with a postgresql:// address")
    }
    do throws(Problem) { return try PostgresAccountStore.schema(of: store) } catch {
      throw .usage(error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message)
    }
  }

  /// The versions of einlass, of its protocol and of the libraries in use.
  private static func versions(isJSON: Bool) -> String {
    let (sqlite, openSSL) = (SQLiteAccountStore.sqliteVersion, CryptoLibrary.version)
    guard isJSON else { return "einlass \(version)\nSQLite \(sqlite)\nOpenSSL \(openSSL)\n" }
    let json: JSONValue = [
      "name": "einlass", "version": .string(version), "protocolVersion": 1,
      "libraries": ["sqlite": .string(sqlite), "openssl": .string(openSSL)],
    ]
    return json.text + "\n"
  }

  private static func run() -> Int32 {
    let arguments = Program.arguments
    let words = arguments.flatMap(HelperMode.words)
    let question = words.flatMap(HelperMode.question)
    if let arguments, let words, question == nil { HelperMode.becomeControl(arguments, words) }
    do throws(Hardening.Refusal) { try Hardening.begin() } catch {
      return complain(
        "it does not run set-uid, set-gid, dumpable, or where a program that it starts may get more privileges",
        ExitCode.configuration)
    }
    guard let arguments else {
      return complain(
        "the system did not hand over the command line, or it is not UTF-8", ExitCode.configuration)
    }
    if let question {
      Hardening.closeInherited()
      return HelperMode.answer(question)
    }
    if words != nil {
      return complain("no einlassctl beside it or on the PATH can be started", ExitCode.internal)
    }
    let options: Options
    do throws(Options.UsageError) { options = try Options(Array(arguments.dropFirst())) } catch {
      return complain("\(error.message). Try: einlass --help", ExitCode.usage)
    }
    guard fcntl(STDOUT_FILENO, F_GETFD) >= 0 else {
      return complain("standard output is closed", ExitCode.failed)
    }
    for (name, number) in options.descriptors where fcntl(number, F_GETFD) < 0 {
      return complain("\(name) \(number) is not open. Try: einlass --help", ExitCode.usage)
    }
    Hardening.closeInherited(except: options.descriptors.map(\.number))
    do {
      switch options.action {
      case .help: return try write(Options.help)
      case .version(let isJSON): return try write(versions(isJSON: isJSON))
      case .dumpProtocol: return try write(Wiring(options).server().protocolDocument.lines)
      case .dumpSchema: return try write(Self.schema(options))
      case .serve: return try serve(options)
      case .call(let method, let params, let application):
        return try call(method, params, as: application, options)
      }
    } catch Wiring.Refusal.usage(let message) {
      return complain("\(message). Try: einlass --help", ExitCode.usage)
    } catch Wiring.Refusal.configuration(let message) {
      return complain(message, ExitCode.configuration)
    } catch let error as SystemError {
      return complain("it cannot start, because \(error.explanation)", ExitCode.internal)
    } catch {
      return complain("it cannot start", ExitCode.internal)
    }
  }

  private static func serve(_ options: Options) throws -> Int32 {
    if isatty(STDIN_FILENO) == 1 {
      _ = complain(
        "einlass serves JSON-RPC lines; for people there is einlassctl. See einlass --help",
        ExitCode.ok)
    }
    let wiring = try Wiring(options)
    let code = try wiring.serve(
      try StandardStreams.claim(), finishes: options.finishes, framing: options.framing)
    return code == ExitCode.ok && wiring.isMisconfigured ? ExitCode.configuration : code
  }

  /// Runs one request through the same server and prints its answer. Returns 1 for an error.
  private static func call(
    _ method: String, _ params: String, as application: String?, _ options: Options
  ) throws -> Int32 {
    let text = params == "-" ? try standardInput() : Array(params.utf8)
    guard let params = try? JSONReader.read(text), params.object != nil else {
      return complain(
        #"the parameters are not one JSON object, such as {"limit":10}"#, ExitCode.usage)
    }
    let greeting = application.map { name -> JSONValue in
      [
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": ["client": ["name": .string(name)], "capabilities": ["changes": false]],
      ]
    }
    let request: JSONValue = [
      "jsonrpc": "2.0", "id": 1, "method": .string(method), "params": params,
    ]
    let lines = [greeting, request].compactMap(\.self).flatMap { $0.bytes() + [UInt8(ascii: "\n")] }
    let input = try Descriptor.memory(holding: lines)
    let output = try Descriptor.memory()
    let copy = try Descriptor.duplicate(output.number)
    let wiring = try Wiring(options)
    let code = try wiring.serve(
      StandardStreams(input: input, output: output), finishes: true, framing: .lines)
    for line in copy.contents().split(separator: UInt8(ascii: "\n")) {
      // A line over the limit is answered without an id.
      guard let message = try? JSONReader.read(line), message["method"] == nil,
        message["id"] != 0 || message["error"] != nil
      else { continue }
      let written = try write(String(decoding: line, as: UTF8.self) + "\n")
      if let error = message["error"] {
        let reason = error["data"]?["reason"]?.string ?? ""
        _ = complain("\(error["message"]?.string ?? "") (\(reason))", ExitCode.failed)
      }
      if wiring.isMisconfigured { return ExitCode.configuration }
      return message["error"] == nil && code == ExitCode.ok ? written : ExitCode.failed
    }
    return complain("no answer came", code == ExitCode.ok ? ExitCode.failed : code)
  }

  private static func standardInput() throws -> [UInt8] {
    let input = try Descriptor.duplicate(STDIN_FILENO)
    guard let bytes = input.readAll(limitBytes: 1 << 20) else {
      throw Wiring.Refusal.usage("standard input is longer than 1 MiB or cannot be read")
    }
    return bytes
  }

  private static func write(_ text: String) throws -> Int32 {
    let output = try Descriptor.duplicate(STDOUT_FILENO)
    do throws(SystemError) { try output.writeAll(Array(text.utf8)) } catch {
      guard !error.isBrokenPipe else { return ExitCode.failed }
      let lost = FileError(.system(error.number), path: "")
      return complain("standard output \(lost.explanation)", ExitCode.failed)
    }
    return ExitCode.ok
  }

  /// Prints the reason for the end to standard error and returns the exit code. The text may quote
  /// an argument.
  private static func complain(_ message: String, _ code: Int32) -> Int32 {
    let line = "einlass: \(presentable(message, limitBytes: 8192))\n"
    try? Descriptor.duplicate(STDERR_FILENO).writeAll(Array(line.utf8))
    return code
  }
}
