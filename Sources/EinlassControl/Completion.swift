internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

extension CompletionKind {
  /// Names of accounts: `provider/username`, or the id if a shell would not take the name
  /// literally.
  static var accounts: CompletionKind {
    .custom { words, _, _ in
      candidates(words) { console throws(Failure) in
        try console.accounts().map { isHarmless($0.title) ? $0.title : $0.id }
      }
    }
  }

  /// Names of applications with an access decision.
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
        try console.offeredProviderIDs()
      }
    }
  }
}

/// Asks einlass for candidates, with the store options of the command line. Returns no candidates
/// if that fails.
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
  /// The parser's completion script, changed so that it shows whole names. bash treats the
  /// candidates as file names and shows only the part after the last slash: `ada` for both
  /// `twitter/ada` and `github/ada`.
  var offeringWholeNames: String {
    replacing("complete -o filenames -F", with: "complete -F")
      .replacing(
        "__einlassctl_add_completions -f",
        with: "compopt -o filenames 2>/dev/null; __einlassctl_add_completions -f")
  }
}

/// Whether a shell takes the name literally. bash expands completion candidates, so it would run a
/// `$(…)` in a name.
func isHarmless(_ name: String) -> Bool { quoted(name) == name && !name.isEmpty }
