/// A command for other programs in its usual form, without options. It needs no parser, and einlass
/// answers it in its own process.
package enum UsualForm {
  /// Returns the question of the words after `einlassctl`; `nil` for any other form.
  package static func question(_ words: ArraySlice<String>) -> (any ProgramProtocol)? {
    var words = words
    if words == ["credential", "cargo", "--cargo-plugin"] { words.removeLast() }
    guard words.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("-") }) else { return nil }
    guard let first = words.popFirst(), let last = words.popLast() else { return nil }
    switch (first, words.first, words.count) {
    case ("token", nil, _): return TokenQuestion(last)
    case ("credential", nil, _) where last == "cargo": return CargoProtocol()
    case ("credential", "git", 1): return GitProtocol(operation: last)
    case ("credential", "docker", 1) where last != "list": return DockerProtocol(operation: last)
    case ("credential", "kubernetes", 1): return KubernetesProtocol(last)
    case ("credential", "headers", 1): return HeadersProtocol(last)
    case ("credential", "bazel", 1): return BazelProtocol(operation: last)
    default: return nil
    }
  }

  /// Returns the words after `einlassctl` if the program runs under the name of a helper:
  /// `git-credential-einlass get` is `einlassctl credential git get`. Else `nil`.
  package static func words(ofHelper arguments: [String]) -> ArraySlice<String>? {
    let name = (arguments.first ?? "").split(separator: "/").last ?? ""
    let suffix = "-credential-einlass"
    guard name.hasSuffix(suffix) else { return nil }
    return ["credential", String(name.dropLast(suffix.count))] + arguments.dropFirst()
  }
}
