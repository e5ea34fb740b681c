internal import CPostgres
internal import Einlass

/// The address of a store in PostgreSQL: `postgresql://USER@HOST:PORT/DATABASE?PARAMETER=VALUE`,
/// with the parameters of libpq and `einlass_store`, the store's name among those of the database.
struct PostgresAddress: Sendable {
  /// The address as given. It holds no secret, because `keywords` refuses one.
  let text: String
  /// The schema of the store's tables, and the channel of its notifications.
  let schema: String
  /// The address without the parameter that libpq does not know.
  private let libraryAddress: String

  private static let storeParameter = "einlass_store"
  private static let storeLimit = 40

  /// Returns whether a store option names a database server and not a file.
  static func isAddress(_ text: String) -> Bool {
    text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
  }

  /// Throws `refused` for a name that is no part of a schema's name.
  init(_ text: String) throws(Problem) {
    let (head, query) = Self.parts(of: text)
    var parameters = query
    let mark = Self.storeParameter + "="
    let names = parameters.filter { $0.hasPrefix(mark) }.map { $0.dropFirst(mark.count) }
    parameters.removeAll { $0.hasPrefix(mark) }
    // A secret of a refused address must not reach the message.
    let shown = Self.withoutPassword(text)
    for name in names where !Self.isName(name) {
      throw .store(
        .refused,
        "\(mark) of the account store's address must be a name of at most \(Self.storeLimit) lower-case letters, digits and underscores.",
        path: shown)
    }
    guard names.count < 2 else {
      throw .store(
        .refused, "The account store's address has \(mark) more than once. Give it once.",
        path: shown)
    }
    self.text = shown
    schema = names.first.map { "einlass_\($0)" } ?? "einlass"
    libraryAddress =
      head + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
  }

  private static func isName(_ name: Substring) -> Bool {
    (1...storeLimit).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
      }
  }

  /// Splits the address before its parameters. A question mark before the `@` of the user belongs to
  /// the password, as libpq reads it.
  private static func parts(of text: String) -> (head: String, parameters: [String]) {
    let authority = text.dropFirst(scheme(of: text).count).prefix { $0 != "/" }
    let host = authority.lastIndex(of: "@") ?? text.startIndex
    let mark = text[host...].firstIndex(of: "?") ?? text.endIndex
    return (
      String(text[..<mark]), text[mark...].dropFirst().split(separator: "&").map(String.init)
    )
  }

  /// Returns the beginning up to the authority (RFC 3986 section 3).
  private static func scheme(of text: String) -> Substring {
    text.prefix(text.prefix { $0 != "/" }.count + 2)
  }

  /// Leaves out a password before the host and the value of each parameter with a secret. Of an
  /// address that libpq cannot read only the scheme is left, because a secret may be anywhere in it.
  private static func withoutPassword(_ text: String) -> String {
    let scheme = scheme(of: text)
    var (head, parameters) = parts(of: text)
    if let at = head.lastIndex(of: "@"),
      let colon = head[..<at].dropFirst(scheme.count).firstIndex(of: ":")
    {
      head.removeSubrange(colon..<at)
    }
    let authority = head.dropFirst(scheme.count).prefix { $0 != "/" }
    let hosts = authority[(authority.lastIndex(of: "@") ?? authority.startIndex)...]
    guard hosts.split(separator: ",").allSatisfy(hasSoundPort),
      parameters.allSatisfy({ $0.contains("=") })
    else { return String(scheme) }
    // A name in percent encoding may be that of a parameter with a secret.
    guard !parameters.contains(where: { $0.contains("%") }) else { return head }
    parameters.removeAll { Self.secrets.contains($0.prefix { $0 != "=" }.lowercased()) }
    return parameters.isEmpty ? head : head + "?" + parameters.joined(separator: "&")
  }

  /// Whether a host is followed by nothing or by the digits of a port.
  private static func hasSoundPort(_ host: Substring) -> Bool {
    let end = host.lastIndex(of: "]") ?? host.startIndex
    guard let colon = host[end...].firstIndex(of: ":") else { return true }
    return host[colon...].dropFirst().utf8.allSatisfy { "0123456789".utf8.contains($0) }
  }

  /// Returns the keywords and values for libpq. Throws `refused` for an address that libpq cannot
  /// read, that holds a password, or that would reach another machine without a verified
  /// certificate.
  func keywords(environment: (String) -> String?) throws(Problem) -> [(String, String)] {
    let given = try parsed()
    if Self.secrets.contains(where: { given[$0] != nil }) {
      throw .store(
        .refused,
        "The account store's address has a password, and other programs can read it there. Put it into ~/.pgpass or a service file, or use a certificate.",
        path: text)
    }
    // Each has to be repeated, so that a variable of the environment does not replace it.
    var keywords = Self.defaults.filter { given[$0.0] == nil }
    if !isLocal(given, environment) {
      let mode = given["sslmode"] ?? "verify-full"
      guard mode == "verify-full" else {
        throw .store(
          .refused,
          "The account store is on another machine, and sslmode=\(mode) does not verify that machine. Use sslmode=verify-full with the authority's certificate as sslrootcert.",
          path: text)
      }
      keywords.append(("sslmode", mode))
    } else if given["hostaddr"] == nil {
      // An empty value keeps PGHOSTADDR from leading to another machine.
      keywords.append(("hostaddr", ""))
    }
    return [("dbname", libraryAddress)] + keywords
  }

  private static let secrets = [
    "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
  ]

  private static let defaults = [
    ("fallback_application_name", "einlass"), ("client_encoding", "UTF8"),
    ("target_session_attrs", "read-write"), ("keepalives_idle", "10"),
    ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
    ("gssencmode", "disable"),
    // In seconds, for each host.
    ("connect_timeout", "3"),
  ]

  /// Whether every host is this machine. A service and PGHOST may name any.
  private func isLocal(
    _ given: [String: String], _ environment: (String) -> String?
  ) -> Bool {
    guard given["service"] == nil, environment("PGSERVICE") == nil else { return false }
    let hosts = (given["host"] ?? environment("PGHOST") ?? "")
      .split(separator: ",", omittingEmptySubsequences: false)
    let addresses = (given["hostaddr"] ?? "").split(separator: ",")
    return hosts.allSatisfy {
      $0.isEmpty || $0.hasPrefix("/") || $0.hasPrefix("@") || isLoopback($0)
    }
      && addresses.allSatisfy(isLoopback)
  }

  private func isLoopback(_ host: Substring) -> Bool {
    host == "localhost" || host == "::1"
      || host.hasPrefix("127.") && host.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
  }

  private func parsed() throws(Problem) -> [String: String] {
    try PostgresConnection.openLibrary()
    let found = Found()
    let reason = unsafe cpostgres_parse(
      libraryAddress, Unmanaged.passUnretained(found).toOpaque()
    ) { context, keyword, value in
      let found = unsafe Unmanaged<Found>.fromOpaque(context!).takeUnretainedValue()
      unsafe found.values[String(cString: keyword!)] = String(cString: value!)
    }
    let ports = (found.values["port"] ?? "").split(separator: ",")
    guard unsafe reason == nil, ports.allSatisfy({ UInt16($0) ?? 0 > 0 }) else {
      // libpq's sentence may quote the address.
      if let reason = unsafe reason { unsafe cpostgres_free(reason) }
      throw .store(
        .refused,
        "The account store's address is not one that libpq reads. Its form is postgresql://USER@HOST:PORT/DATABASE?PARAMETER=VALUE.",
        path: text)
    }
    return found.values
  }

  private final class Found {
    var values: [String: String] = [:]
  }
}
