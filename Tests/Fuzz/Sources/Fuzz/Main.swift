import CFuzzer
import Glibc

/// The entry of the executable, as SwiftPM renames it: libFuzzer brings a `main` of its own.
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

/// Set once, before the only thread that reads it goes on.
nonisolated(unsafe) private var chosen = FuzzTarget.reader

/// What is fuzzed. Every target ends the process when a promise is broken.
enum FuzzTarget: String, CaseIterable {
  /// Lines and JSON, against Foundation's reader.
  case reader
  /// A whole connection with a store in memory.
  case dispatcher
  /// A provider's answers, through the flows.
  case answers
  /// Answers of servers of OAuth 2.0 and OpenID Connect, through whatever asks them.
  case grants
  /// What comes to the redirect address, through to the flow.
  case redirect
  /// Sealed columns, key slots, key files.
  case sealing
  /// Percent, form, base 64, addresses, the string that is signed.
  case codings
  /// A store file that was changed by somebody.
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

/// A promise: the process ends where it is broken, and libFuzzer keeps the input.
func check(_ holds: Bool, _ promise: @autoclosure () -> String) {
  guard !holds else { return }
  say("broken: \(promise())")
  abort()
}

/// One line to stderr.
private func say(_ text: String) {
  let line = Array("\(text)\n".utf8)
  _ = write(2, line, line.count)
}

/// Takes an input apart.
struct Portions {
  private(set) var rest: ArraySlice<UInt8>

  init(_ input: [UInt8]) { rest = input[...] }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// So many bytes, or what is left.
  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// A field behind its length in two bytes.
  mutating func field() -> [UInt8] {
    let high = Int(byte())
    return bytes(high << 8 | Int(byte()))
  }

  mutating func text() -> String { String(decoding: field(), as: UTF8.self) }
}
