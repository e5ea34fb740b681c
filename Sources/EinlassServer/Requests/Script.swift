internal import Einlass
public import EinlassJSON
internal import EinlassSystem

/// The answers of `--answers`: JSON Lines `{kind, provider?, action, account? | username?, text?}`.
/// Each is used once, in order.
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
  /// The kinds of prompt with answers left.
  var kinds: Set<Prompt.Kind> { lines.withLock { Set($0.map(\.kind)) } }

  /// Makes a script without answers.
  public init() {
    lines = Lock([])
  }

  /// Reads the lines. Throws the first error, with the line's index, counted from 0, as the first
  /// part of the pointer.
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

  /// Returns the first unused answer to this prompt; `nil` if there is none.
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
        text: line.text.map { Secret($0) }, username: line.username)
    case "decline": return .decline
    default: return .cancel
    }
  }
}

extension Prompt {
  /// Returns the account of a scripted answer: by id, by user name, or else the first one to
  /// select.
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
