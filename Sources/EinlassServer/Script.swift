internal import Einlass
public import EinlassJSON
internal import EinlassSystem

/// The answers of `--answers`: JSON Lines `{kind, provider?, action, account? | username?, text?}`, each used once, in order.
public final class Script: Sendable {
  private struct Line: Sendable {
    var kind: Prompt.Kind
    var provider: String?
    var action: String
    var account: String?
    var username: String?
    var text: String?
  }

  private let lines: Lock<[Line]>
  /// The kinds that it has answers left for.
  var kinds: Set<Prompt.Kind> { lines.withLock { Set($0.map(\.kind)) } }

  /// No answers.
  public init() {
    lines = Lock([])
  }

  /// Reads the lines. Throws what is wrong, with the line's number as the pointer's first part.
  public init(_ values: [JSONValue]) throws(ConfigurationError) {
    var lines: [Line] = []
    for (index, value) in values.enumerated() {
      guard let kind = value["kind"]?.string.flatMap(Prompt.Kind.init) else {
        throw ConfigurationError(
          "/\(index)/kind", "one of \(Prompt.Kind.allCases.map(\.rawValue).joined(separator: ", "))"
        )
      }
      guard let action = value["action"]?.string, ["accept", "decline", "cancel"].contains(action)
      else { throw ConfigurationError("/\(index)/action", "accept, decline or cancel") }
      lines.append(
        Line(
          kind: kind, provider: value["provider"]?.string, action: action,
          account: value["account"]?.string, username: value["username"]?.string,
          text: value["text"]?.string))
    }
    self.lines = Lock(lines)
  }

  /// The first unused answer that fits, `nil` when there is none.
  func answer(_ prompt: Prompt, at provider: String) -> Answer? {
    let line = lines.withLock { lines -> Line? in
      let index = lines.firstIndex { line in
        line.kind == prompt.kind && (line.provider.map { sameBytes($0, provider) } ?? true)
      }
      return index.map { lines.remove(at: $0) }
    }
    guard let line else { return nil }
    switch line.action {
    case "accept":
      return .accept(
        account: prompt.account(of: line.account, or: line.username),
        text: line.text.map { Secret($0) })
    case "decline": return .decline
    default: return .cancel
    }
  }
}

extension Prompt {
  /// The account that a scripted answer means: by id, by user name, else the first one that is to be selected.
  fileprivate func account(of id: String?, or username: String?) -> Account.ID? {
    let offered: [Account]
    var first: Account?
    switch self {
    case .selectAccount(let accounts, _): (offered, first) = (accounts, accounts.first)
    case .replaceAccount(let accounts, _): offered = accounts
    default: return nil
    }
    if let id { return Account.ID(rawValue: id) }
    guard let username else { return first?.id }
    return offered.first { sameBytes($0.username, username) }?.id
  }
}
