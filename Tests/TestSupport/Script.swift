public import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// The world around a flow: canned answers go in, in order, and the list of effects comes out.
///
/// The log reads as the story of the flow: `ask grantAccess`, `POST https://…`, `save application
/// APP`.
public final class Script: Sendable {
  /// The network's reaction to one request.
  public enum Reply: Sendable {
    case answer(HTTPResponse)
    case problem(Problem)

    public static func json(_ text: String, status: Int = 200) -> Reply {
      .answer(HTTPResponse(status: status, body: Array(text.utf8)))
    }

    public static func text(
      _ text: String, status: Int = 200, headers: [HTTPRequest.Header] = []
    ) -> Reply {
      .answer(HTTPResponse(status: status, headers: headers, body: Array(text.utf8)))
    }

    public static func bytes(_ bytes: [UInt8], status: Int = 200) -> Reply {
      .answer(HTTPResponse(status: status, body: bytes))
    }

    /// Returns a transport error with an NSURLErrorDomain code.
    public static func networkFailure(_ code: Int) -> Reply {
      .problem(Problem(.networkFailure, "The network failed.", networkCode: code))
    }

    /// A lost connection after the server may have handled the request.
    public static var lostAnswer: Reply {
      var problem = Problem(
        .networkFailure, "The connection was lost.", isRetryable: true, networkCode: -1005)
      problem.mayHaveArrived = true
      return .problem(problem)
    }
  }

  /// The time at which the clock of every script begins.
  public static let now: UnixTime = 1_500_000_000

  private struct State {
    var replies: [Reply]
    var answers: [Answer]
    var pasted: [String]
    var log: [String] = []
    var requests: [HTTPRequest] = []
    var stages: [Stage] = []
    var explanation: String?
    var prompts: [Prompt] = []
    var certificates: [ServerCertificate] = []
    var files: [String: String] = [:]
    var randomCount: UInt8 = 0
    var now = Script.now
  }

  /// The queries of the redirects that the browser makes after `openURL`, in order.
  private let brought: [String]
  private let browser = AsyncStream<String>.makeStream()

  public let store: ScriptedStore
  private let state: Lock<State>

  /// - Parameters:
  ///   - replies: the reactions of the network, in order; a further request fails with `internal`.
  ///   - answers: the answers of the person, in order; a further prompt fails with `internal`.
  ///   - brought: the queries of the redirects that the browser makes after `openURL`, in order.
  ///   - pasted: the person's answers to `enterVerifier`, in order; the last one repeats. Without
  /// any,
  ///     `enterVerifier` waits until it is cancelled.
  public init(
    _ replies: [Reply] = [], answers: [Answer] = [], brought: [String] = [],
    pasted: [String] = [], store: ScriptedStore = ScriptedStore()
  ) {
    self.brought = brought
    state = Lock(State(replies: replies, answers: answers, pasted: pasted))
    self.store = store
    store.watch { [state] event in state.withLock { $0.log.append(event) } }
  }

  /// Every effect in order: prompts, requests, changes of the store.
  public var log: [String] { state.withLock { $0.log } }
  /// The requests alone, complete.
  public var requests: [HTTPRequest] { state.withLock { $0.requests } }
  /// The prompts alone, complete.
  public var prompts: [Prompt] { state.withLock { $0.prompts } }
  public var stages: [Stage] { state.withLock { $0.stages } }
  /// The reason for the wait that the flow has given last.
  public var explanation: String? { state.withLock { $0.explanation } }
  /// The number of replies that no request has used.
  public var unusedReplyCount: Int { state.withLock { $0.replies.count } }

  public var effects: Effects {
    Effects(
      send: { [state] request throws(Problem) in
        try state.withLock { (state) throws(Problem) in
          state.log.append("\(request.method.rawValue) \(request.address.text)")
          state.requests.append(request)
          guard !state.replies.isEmpty else {
            throw Problem(.internal, "The script has no more replies.")
          }
          switch state.replies.removeFirst() {
          case .answer(let response): return response
          case .problem(let problem): throw problem
          }
        }
      },
      certificate: { [state] address, trust throws(Problem) in
        try state.withLock { (state) throws(Problem) in
          state.log.append("certificate of \(address.origin)")
          guard !state.certificates.isEmpty else {
            throw Problem(.internal, "The script has no more certificates.")
          }
          return state.certificates.removeFirst()
        }
      },
      sleepUntil: { [state] time in state.withLock { $0.log.append("sleep until \(time)") } },
      now: { [state] in state.withLock { $0.now } },
      randomBytes: { [state] count in
        state.withLock { state in
          state.randomCount += 1
          return Array(repeating: state.randomCount, count: count)
        }
      },
      openRedirect: { [self] place throws(Problem) in
        note("listen at \(place.host.rawValue) \(place.path)")
        let claim = Lock(RedirectClaim?.none)
        return OpenRedirect(
          address: "http://\(place.host.rawValue):8400\(place.path)",
          expect: { new in claim.withLock { $0 = new } },
          next: { () async throws(Problem) in
            for await query in self.browser.stream {
              let parameters = RedirectParameters(query)
              let claim = claim.withLock(\.self)
              guard claim?.isOurs(parameters) == true else {
                claim?.refused(.foreign(parameters))
                self.note("page unexpected")
                continue
              }
              return RedirectAnswer(parameters) { self.note("page \($0.outcome)") }
            }
            throw Problem(.cancelled, "The script is over.")
          },
          close: { self.note("close") })
      },
      readAssertionFile: { [state] path throws(Problem) in
        guard let text = state.withLock({ $0.files[path] }) else {
          throw Problem(.authenticatorUnconfigured, "The file is missing.", path: path)
        }
        return Secret(text)
      }, memory: memory)
  }

  /// The memory that the flows of one process share.
  public let memory = ServerMemory(
    keySets: notebook(), clockOffsets: notebook(), proofNonces: notebook(),
    spentAssertions: notebook(), assertionAudiences: notebook(), tokenChecks: notebook())

  private static func notebook<Value>() -> Notebook<Value> {
    let values = Lock<[String: Value]>([:])
    return Notebook(
      read: { key in values.withLock { $0[key] } },
      write: { key, value in values.withLock { $0[key] = value } })
  }

  /// Writes the file of an assertion.
  public func write(_ text: String, to path: String) { state.withLock { $0.files[path] = text } }

  /// Moves the clock forward, or back if negative.
  public func advance(seconds: Int64) { state.withLock { $0.now += seconds } }

  /// Appends the certificates that servers present.
  public func present(_ certificates: ServerCertificate...) {
    state.withLock { $0.certificates += certificates }
  }

  /// Appends replies to those of the network.
  public func reply(_ replies: Reply...) { state.withLock { $0.replies += replies } }

  /// Appends answers to those of the person.
  public func answer(_ answers: Answer...) { state.withLock { $0.answers += answers } }

  private func note(_ event: String) { state.withLock { $0.log.append(event) } }

  /// Waits until the task is cancelled.
  private static func wait() async throws(Problem) -> Answer {
    let forever = AsyncStream<Never>.makeStream()
    for await _ in forever.stream {}
    withExtendedLifetime(forever.continuation) {}
    throw Problem(.cancelled, "The script is over.")
  }

  /// Returns a front end that can show these kinds of prompt.
  public func asker(_ kinds: Set<Prompt.Kind> = Set(Prompt.Kind.allCases)) -> Asker {
    Asker(
      kinds: kinds,
      ask: { [self] prompt async throws(Problem) in
        if prompt.kind == .enterVerifier {
          note("ask \(prompt.summary)")
          let text = state.withLock { state in
            state.pasted.count > 1 ? state.pasted.removeFirst() : state.pasted.first
          }
          guard let text else { return try await Self.wait() }
          return .accept(text: Secret(text))
        }
        defer {
          if prompt.kind == .openURL { for query in brought { browser.continuation.yield(query) } }
        }
        return try state.withLock { (state) throws(Problem) in
          state.log.append("ask \(prompt.summary)")
          state.prompts.append(prompt)
          guard !state.answers.isEmpty else {
            throw Problem(.internal, "The script has no more answers.")
          }
          return state.answers.removeFirst()
        }
      },
      report: { [state] stage in state.withLock { $0.stages.append(stage) } },
      explain: { [state] sentence in state.withLock { $0.explanation = sentence } })
  }
}

extension Prompt {
  /// The prompt in a few words, for logs: `selectAccount ada, bob`.
  public var summary: String {
    switch self {
    case .grantAccess(_, _, let added, _):
      added.isEmpty ? "grantAccess" : "grantAccess \(added.joined(separator: ","))"
    case .selectAccount(let accounts, let more), .replaceAccount(let accounts, let more):
      "\(kind.rawValue) \(accounts.map(\.username).joined(separator: ","))\(more ? ",…" : "")"
    case .confirmAccount(let account): "confirmAccount \(account.username)"
    case .openURL(let address, let place): "openURL \(address.host)\(place.map { " \($0)" } ?? "")"
    case .deviceCode(let page, _, let userCode, _): "deviceCode \(page.host) \(userCode)"
    case .enterVerifier(let verifier, let isAgain, _):
      "enterVerifier \(verifier.rawValue)\(isAgain ? " again" : "")"
    case .enterPassphrase(let wanted): "enterPassphrase \(wanted.purpose.rawValue)"
    case .trustCertificate(let trust):
      "trustCertificate \(trust.server) \(trust.certificate.publicKey)\(trust.formerPublicKey.map { " not \($0)" } ?? "")"
    case .enterPassword(let login): "enterPassword \(login.server)\(login.isAgain ? " again" : "")"
    }
  }
}
