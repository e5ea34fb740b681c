package import EinlassJSON

/// Returns a message of einlass in the words of this command line: options and commands in place of
/// parameters and methods.
package func worded(_ sentence: String) -> String {
  var text = sentence
  let opening = "The parameter "
  if sentence.hasPrefix("\(opening)/") {
    let pointer = sentence.dropFirst(opening.count).prefix { $0 != " " }
    // An element of a list is set by the option of the list.
    let isElement = pointer.split(separator: "/").last.map { Int($0) != nil } ?? false
    let list = isElement ? pointer[..<(pointer.lastIndex(of: "/") ?? pointer.endIndex)] : pointer
    text =
      (options[String(list)] ?? String(pointer.dropFirst()))
      + sentence.dropFirst(opening.count + pointer.count)
  }
  for (theirs, ours) in phrases { text = text.putting(ours, inPlaceOf: theirs) }
  return text
}

/// Option names by JSON pointer into the parameters.
private let options = [
  "/flowKind": "--flow", "/scopes": "--scope", "/permissions": "--permission",
  "/loginHint": "--login-hint",
  "/audience": "--audience", "/displayName": "NAME", "/path": "PATH", "/issuer": "SOURCE",
  "/application": "APPLICATION", "/provider": "PROVIDER", "/account": "ACCOUNT",
  "/client/name": "The application's name", "/clientId": "--client-id", "/redirect": "--redirect",
  "/kind": "KIND", "/server": "--server", "/useCookies": "--cookies",
]

private let phrases = [
  ("ass replace: true", "ass --replace"),
  ("providers.list names", "einlassctl providers show names"),
  ("as providers.list describes", "as einlassctl providers show describes"),
  ("providers.configure", "einlassctl providers configure"),
  ("providers.add", "einlassctl providers add"),
  ("providers.remove", "einlassctl providers remove"),
  ("accounts.export", "einlassctl accounts export"),
  ("with accounts.add", "with einlassctl accounts add"),
  ("from accounts.list", "from einlassctl accounts list"),
  ("with access.set first", "with einlassctl access set first"),
  ("prompts that cannot be shown for this request", "questions that can't be asked here"),
  ("but this front end cannot ask for it", "but it can't be asked for here"),
]

extension String {
  /// Returns the offsets in bytes at which a text begins.
  package func places(of text: String) -> [Int] {
    let (bytes, pattern) = (Array(utf8), Array(text.utf8))
    return bytes.indices.filter { bytes[$0...].starts(with: pattern) }
  }

  /// Replaces byte sequences, not characters. `inPlaceOf` must not be empty.
  package func putting(_ new: String, inPlaceOf old: String) -> String {
    let (bytes, pattern) = (Array(utf8), Array(old.utf8))
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index...].starts(with: pattern) {
        result += new.utf8
        index += pattern.count
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

/// Returns a number with its noun: `1 account`, `2 accounts`.
package func counted(_ number: JSONValue?, _ one: String, _ several: String? = nil) -> String {
  let count = number?.int64 ?? 0
  return "\(count) \(count == 1 ? one : several ?? "\(one)s")"
}
