import CFuzzer
import Glibc

/// The entry point of the executable under the name that SwiftPM gives it, because libFuzzer
/// defines `main`.
@_cdecl("Fuzz_main")
public func fuzzMain(
  _ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard let name = getenv("EINLASS_FUZZ_TARGET").map({ String(cString: $0) }),
    let target = FuzzTarget(rawValue: name)
  else {
    say("EINLASS_FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue))")
    return 64
  }
  chosen = target
  var count = count
  var arguments = arguments
  return LLVMFuzzerRunDriver(&count, &arguments) { data, size in
    chosen.run(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
  }
}

/// Set once, before the only thread that reads it starts.
nonisolated(unsafe) private var chosen = FuzzTarget.reader

/// The fuzz targets. Every target ends the process when a check fails.
enum FuzzTarget: String, CaseIterable {
  /// Lines and JSON, compared with Foundation's reader.
  case reader
  /// A whole connection with a store in memory.
  case dispatcher
  /// Answers of the built-in providers' servers, through the flows.
  case answers
  /// Answers of OAuth 2.0 and OpenID Connect servers, through every operation that sends requests
  /// to them.
  case grants
  /// Requests to the redirect address, through to the flow.
  case redirect
  /// Sealed columns, key slots, key files.
  case sealing
  /// Percent-encoding, form encoding, base 64, addresses and the OAuth 1.0 signature base string.
  case codings
  /// A store file with changed bytes.
  case store

  func run(_ input: [UInt8]) {
    switch self {
    case .reader: fuzzReader(input)
    case .dispatcher: fuzzDispatcher(input)
    case .answers: fuzzAnswers(input)
    case .grants: fuzzGrants(input)
    case .redirect: fuzzRedirect(input)
    case .sealing: fuzzSealing(input)
    case .codings: fuzzCodings(input)
    case .store: fuzzStore(input)
    }
  }
}

/// Ends the process if the condition is false, so that libFuzzer keeps the input.
func check(_ holds: Bool, _ promise: @autoclosure () -> String) {
  guard !holds else { return }
  say("broken: \(promise())")
  abort()
}

private func say(_ text: String) {
  let line = Array("\(text)\n".utf8)
  _ = write(2, line, line.count)
}

/// A reader of the parts of an input.
struct Portions {
  private(set) var rest: ArraySlice<UInt8>

  init(_ input: [UInt8]) { rest = input[...] }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Returns this many bytes, or the rest if it is shorter.
  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Returns a field after its length in two bytes.
  mutating func field() -> [UInt8] {
    let high = Int(byte())
    return bytes(high << 8 | Int(byte()))
  }

  mutating func text() -> String { String(decoding: field(), as: UTF8.self) }
}
