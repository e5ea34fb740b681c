internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// `einlassctl doctor`: checks the installation and the store, and gives a next step for each
/// problem.
struct Doctor: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the setup, and show the next step for each problem.",
    discussion: "Changes nothing. Exit code 1 if there is a problem.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    var findings = versions(console) + (try configuration(console))
    findings += try network(console)
    findings += try registrations(console)
    findings += try store(console)
    findings += try accounts(console)
    findings += try servers(console)
    findings += try setups(console)
    let isWell = !findings.contains { $0.verdict == .wrong }
    try console.report(
      ["ok": .bool(isWell), "findings": .array(findings.map(\.json))],
      findings.flatMap { $0.lines(console, repeating: server.repeated) })
    if !isWell { throw .badNews }
  }

  private func versions(_ console: Console) -> [Finding] {
    let theirs = console.greeting["server"]?["version"]?.plain ?? "unknown"
    return [
      Finding("einlassctl", .well, "version \(version)"),
      theirs == version
        ? Finding("einlass", .well, "version \(theirs)")
        : Finding(
          "einlass", .wrong, "version \(theirs) differs from that of einlassctl",
          NextStep("Install both from one release; --einlass names another einlass.")),
    ] + others()
  }

  /// Finds an einlass of another installation on the PATH.
  private func others() -> [Finding] {
    let used = (try? ServerLocation.find(server.einlass)).flatMap(Program.resolved)
    let all = ServerLocation.searched.map { "\($0)/einlass" }.filter(Program.isExecutable)
    guard let used, let first = all.first,
      let other = all.first(where: { Program.resolved($0) != used })
    else { return [] }
    return [
      Finding(
        "einlass", .notable,
        "two are installed, \(used) and \(other); programs that look for one take \(first)",
        NextStep("Remove one of the two, or change the order of the PATH."))
    ]
  }

  private func configuration(_ console: Console) throws(Failure) -> [Finding] {
    if let problem = console.greeting["configuration"]?["problem"] {
      return [Finding("configuration", problem)]
    }
    guard let path = server.configurationInUse else {
      return [Finding("configuration", .well, "none")]
    }
    if let file = try ConfigurationFile(server).caFile, !Self.holdsCertificates(file) {
      return [
        Finding(
          "configuration", .wrong,
          "\(path) names \(clean(file)) as caFile, which cannot be read, or has no certificate",
          NextStep("Correct caFile in that file."))
      ]
    }
    let unknown = try unknownProviders(console)
    guard unknown.isEmpty else {
      return unknown.map {
        Finding(
          "configuration", .notable, "\(path) names a provider that does not exist: \($0)",
          NextStep(
            "Correct the id, or add the provider. Known providers:", "providers",
            "list"))
      }
    }
    return [Finding("configuration", .well, "\(path) is valid")]
  }

  /// Whether a file is a regular one with PEM certificates.
  private static func holdsCertificates(_ path: String) -> Bool {
    let bytes = try? PersonalFile.read(path, others: .mayOwn, limitBytes: 1 << 24)
    return bytes?.contains("-----BEGIN".utf8) == true
  }

  /// Reports the state of the network. An einlass that cannot say it is well too.
  private func network(_ console: Console) throws(Failure) -> [Finding] {
    let status: JSONObject
    do throws(Failure) { status = try console.call("network.status") } catch .refused { return [] }
    switch status["online"]?.bool {
    case true?: return [Finding("network", .well, "online")]
    case nil: return [Finding("network", .well, "unknown")]
    case false?:
      return [
        Finding(
          "network", .notable, "no default route, so providers elsewhere cannot be reached",
          NextStep("Connect this machine to a network."))
      ]
    }
  }

  private func store(_ console: Console) throws(Failure) -> [Finding] {
    guard let store = console.greeting["store"] else { return [] }
    if let problem = store["problem"] { return [Finding("store", problem)] }
    let status = try console.call("store.status")
    if status["database"] == nil, let file = status["path"]?.string,
      FileSystem.isOnNetwork(nearest: file)
    {
      return [
        Finding(
          "store", .wrong,
          "\(file) is on a file system that other machines may have, so nothing can be added, changed or renewed",
          .localDisk)
      ]
    }
    guard status["exists"]?.bool != false else {
      return [
        Finding(
          "store", .well, "none yet: the first change creates \(status["path"]?.plain ?? "one")")
      ]
    }
    let path = status["path"]?.plain ?? "only in memory"
    if let database = status["database"]?.object {
      return [Finding("store", .well, path)] + Self.promises(of: database)
        + (try contents(console, status)) + (try auditTrail(console))
    }
    if let holder = try lastingHolder(status, console) {
      return [
        Finding(
          "store", .wrong, "process \(holder) keeps \(path) locked, so nothing can be changed",
          NextStep("Check why that process is stuck, or end it."))
      ]
    }
    return [
      status["readOnly"]?.bool == true
        ? Finding(
          "store", .notable,
          "\(path) is not writable, so nothing can be added, changed or renewed",
          NextStep(
            "Make the file and its folder writable, or name another store with --store."))
        : Finding("store", .well, path)
    ] + openFolders(above: status["path"]?.string) + (try contents(console, status))
  }

  /// Finds what the database server does not promise.
  private static func promises(of database: JSONObject) -> [Finding] {
    var findings: [Finding] = []
    if database["durable"]?.bool == false {
      findings.append(
        Finding(
          "database", .notable,
          "a crash of the server can lose the last changes, and with them the only refresh token of an account",
          NextStep(
            "Ask its operator to set fsync, full_page_writes and synchronous_commit to on.")))
    }
    if database["standby"]?.string == "asynchronous" {
      findings.append(
        Finding(
          "database", .notable,
          "its standby is asynchronous, so a promotion can lose the last refreshed tokens",
          NextStep("Ask its operator to set synchronous_standby_names.")))
    }
    if database["pooled"]?.bool == true {
      findings.append(
        Finding(
          "database", .well,
          "a pooler stands before it; in transaction mode changes by others are seen after 2 s"))
    }
    if let offset = database["clockOffset"]?.int64, abs(offset) > 5 {
      findings.append(
        Finding(
          "database", .notable,
          "its clock is \(abs(offset)) s \(offset > 0 ? "ahead of" : "behind") this machine's",
          NextStep("Let a time service set both clocks.")))
    }
    guard findings.isEmpty else { return findings }
    let tls = database["tls"]?.bool == true ? "encrypted" : "on this machine"
    return [
      Finding("database", .well, "PostgreSQL \(database["version"]?.plain ?? ""), \(tls)")
    ]
  }

  /// Finds a database that refuses the audit lines of this machine. They are sent before the trail is
  /// listed.
  private func auditTrail(_ console: Console) throws(Failure) -> [Finding] {
    do throws(Failure) {
      _ = try console.call("audit.list", ["limit": 1])
      return []
    } catch .refused(let refusal) {
      return [Finding("audit trail", refusal: refusal)]
    }
  }

  /// Returns the process that has kept the store locked for a second, which is longer than a change
  /// takes.
  private func lastingHolder(
    _ status: JSONObject, _ console: Console
  ) throws(Failure) -> Int64? {
    guard let holder = status["holder"]?.int64 else { return nil }
    usleep(1_000_000)
    return try console.call("store.status")["holder"]?.int64 == holder ? holder : nil
  }

  /// Finds folders above the store that other users may change. Such a user can move the store
  /// away, but cannot read it.
  private func openFolders(above path: String?) -> [Finding] {
    FileStatus.foldersOfOthers(above: path ?? "").map {
      Finding(
        "store", .notable, "other users may change \($0), the folder of the store",
        NextStep(
          "Remove their write permission (chmod go-w, chown), or move the store and name it with --store."
        ))
    }
  }

  /// Checks the contents of the store. Without the key the sealed values remain unread.
  private func contents(_ console: Console, _ status: JSONObject) throws(Failure) -> [Finding] {
    let key = Self.key(status)
    let check: JSONObject
    do throws(Failure) { check = try console.call("store.check") } catch .refused(let refusal) {
      let isKey = refusal.data["detail"]?.string == "keyUnavailable"
      return isKey
        ? [Finding("key", refusal: refusal)] : [key, Finding("store check", refusal: refusal)]
    }
    let all = check["findings"]?.array ?? []
    let findings = all.map { finding in
      Finding(
        finding["kind"]?.string == "keyUnavailable" ? "key" : "store check", .wrong,
        finding["message"]?.plain ?? finding.plain,
        finding["next"]?.array?.first.map { NextStep($0) })
    }
    if findings.contains(where: { $0.subject == "key" }) { return findings }
    guard findings.isEmpty else { return [key] + findings }
    return [
      key,
      Finding("store check", .well, "\(counted(check["sealedValues"], "sealed value")) read"),
    ]
  }

  /// Returns how the key opens. A person at the terminal would not notice that it needs one.
  private static func key(_ status: JSONObject) -> Finding {
    let opening = "opened by: \(status["slots"]?.plain ?? "unknown")"
    if let end = status["unlockedUntil"]?.int64 {
      return Finding("key", .well, "\(opening); unlocked until \(timestamp(end))")
    }
    let slots = (status["slots"]?.array ?? []).compactMap(\.string)
    guard slots.contains("passphrase"), !Unattended.open(slots) else {
      return Finding("key", .well, opening)
    }
    return Finding(
      "key", .notable, "\(opening), so \(Unattended.names) do not open the store",
      Unattended.step)
  }

  private func accounts(_ console: Console) throws(Failure) -> [Finding] {
    let accounts: [Account]
    do throws(Failure) { accounts = try console.accounts() } catch .refused { return [] }
    let ill = accounts.filter { !["ok", nil].contains($0.json["health"]?.string) }
    let signedOut = accounts.count { account in
      account.json["signedIn"]?.bool == false && !ill.contains { sameBytes($0.id, account.id) }
    }
    let count = counted(JSONValue(Int64(accounts.count)), "account")
    let out = signedOut == 0 ? "" : ", \(signedOut) signed out"
    let well = accounts.count - ill.count - signedOut
    return [Finding("accounts", .well, "\(count), \(well) in order\(out)")]
      + ill.map { account in
        let step = account.json["next"]?.array?.first
        return Finding(
          account.title, .wrong, account.state.text,
          step.map { NextStep($0, account: account.title) })
      } + accounts.flatMap(Self.failures) + accounts.flatMap(Self.refusals)
      + (try strays(accounts, console))
  }

  /// Returns the failing refreshes of an account that is well otherwise.
  private static func failures(of account: Account) -> [Finding] {
    guard account.json["health"]?.string == "ok", account.json["refreshFailsSince"] != nil else {
      return []
    }
    return [
      Finding(
        account.title, .notable, account.state.text,
        NextStep("To try again, and learn why:", "token", account.title, "--refresh"))
    ]
  }

  /// Returns the refused credentials of an account that is well otherwise.
  private static func refusals(of account: Account) -> [Finding] {
    guard account.json["health"]?.string == "ok" else { return [] }
    return account.refusals.map { refusal in
      guard let address = refusal.address else {
        let of = refusal.resource.map { " for \($0)" } ?? ""
        return Finding(
          account.title, .notable, "its token\(of) was refused",
          NextStep(
            "Get a new one, or learn what it needs:", "token", refusal.resource ?? account.title))
      }
      let end = refusal.endsAt.map { " until \(timestamp($0))" } ?? ""
      return Finding(
        account.title, .notable, "\(address) has refused its token, and does not get it\(end)",
        NextStep(
          "Check that the account may use that service. To try again at once:", "sign-in",
          "--account", account.title))
    }
  }
}

/// One checked item.
struct Finding {
  /// The result of a check.
  enum Verdict: String {
    case well = "ok"
    case wrong = "problem"
    case notable = "note"
  }

  var subject: String
  var verdict: Verdict
  var detail: String
  var next: NextStep?

  init(_ subject: String, _ verdict: Verdict, _ detail: String, _ next: NextStep? = nil) {
    (self.subject, self.verdict, self.detail, self.next) = (subject, verdict, detail, next)
  }

  /// Reads a problem of `initialize`: `{code, reason, detail?, message}`.
  init(_ subject: String, _ problem: JSONValue) {
    self.init(
      subject,
      refusal: Refusal([
        "code": problem["code"] ?? 0, "message": problem["message"] ?? "", "data": problem,
      ]))
  }

  /// Creates the finding of an error answered by einlass.
  init(_ subject: String, refusal: Refusal) {
    self.init(subject, .wrong, refusal.message, refusal.nextSteps.first)
  }

  /// The finding for `--json`.
  var json: JSONValue {
    .object(
      JSONObject(present: [
        "check": .string(subject), "verdict": .string(verdict.rawValue), "detail": .string(detail),
        "next": next.map { .string($0.line(repeating: [])) },
      ]))
  }

  /// Returns the finding as lines for people.
  func lines(_ console: Console, repeating options: [String]) -> [String] {
    let tint: Style.Tint =
      switch verdict {
      case .well: .good
      case .wrong: .bad
      case .notable: .warning
      }
    let word = verdict.rawValue.padded(to: 8)
    return ["\(console.tinted(word, tint)) \(clean(subject)): \(clean(detail))"]
      + (next.map { ["         next: \($0.line(repeating: options))"] } ?? [])
  }
}
