internal import ArgumentParser
internal import EinlassJSON

extension CompletionKind {
  /// Names of accounts: `provider/username`, or the id where that is none that a shell leaves alone.
  static var accounts: CompletionKind {
    .custom { words, _, _ in
      candidates(words) { console throws(Failure) in
        try console.accounts().map { isHarmless($0.title) ? $0.title : $0.id }
      }
    }
  }

  /// Applications about which something was decided.
  static var applications: CompletionKind {
    .custom { words, _, _ in
      candidates(words) { console throws(Failure) in
        let names = try console.list("access.list", "grants").compactMap {
          $0["application"]?.string
        }
        return Set(names).sorted()
      }
    }
  }

  /// Ids of providers.
  static var providers: CompletionKind {
    .custom { words, _, _ in
      candidates(words) { console throws(Failure) in
        try console.providerIDs()
      }
    }
  }
}

/// What einlass answers, asked with the store that stands on the command line; nothing when it can't.
private func candidates(
  _ words: [String], _ list: (Console) throws(Failure) -> [String]
) -> [String] {
  let named = zip(words, words.dropFirst())
    .filter { ["--store", "--key-file", "--config", "--providers", "--einlass"].contains($0.0) }
    .flatMap { [$0.0, $0.1] }
  guard let options = try? ServerOptions.parse(named + ["--no-input", "--log-level", "error"]),
    let console = try? Console(options)
  else { return [] }
  defer { console.end() }
  return ((try? list(console)) ?? []).filter(isHarmless)
}

extension String {
  /// The parser's completion script, which shows the whole names that it offers. bash shows what follows the last slash
  /// where candidates are called file names: `ada` for `twitter/ada` and for `github/ada`.
  var offeringWholeNames: String {
    replacing("complete -o filenames -F", with: "complete -F")
      .replacing(
        "__einlassctl_add_completions -f",
        with: "compopt -o filenames 2>/dev/null; __einlassctl_add_completions -f")
  }
}

/// Whether a shell takes it as it stands. bash expands what a completion offers: `$(…)` would be run.
func isHarmless(_ name: String) -> Bool { quoted(name) == name && !name.isEmpty }
