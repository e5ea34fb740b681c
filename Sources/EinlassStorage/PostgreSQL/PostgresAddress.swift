internal import CPostgres
internal import Einlass

/// The address of a store in PostgreSQL: `postgresql://USER@HOST:PORT/DATABASE?PARAMETER=VALUE`,
/// with the parameters of libpq and `einlass_store`, the store's name among those of the database.
struct PostgresAddress: Sendable {
  /// The address as given. It holds no secret, because `keywords` refuses one.
  let text: String
  /// The schema of the store's tables, and the channel of its notifications. A store is a schema,
  /// so its rights, copies and removal are those of a schema.
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
    let shown = Self.withoutSecrets(text)
    for name in names where !Self.isName(name) {
      throw .store(
        .refused,
        "\(mark) of the account store's address must be a name of at most \(Self.storeLimit) lower-case letters, digits and underscores.",
        advice: .correctAddress, path: shown)
    }
    guard names.count < 2 else {
      throw .store(
        .refused, "The account store's address has \(mark) more than once.",
        advice: .correctAddress,
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

  /// Splits the address before its parameters. As libpq reads it, the user ends at the first `@` before
  /// a slash, and may hold a question mark.
  private static func parts(of text: String) -> (head: String, parameters: [String]) {
    let host = authority(of: text).firstIndex(of: "@") ?? text.startIndex
    let mark = text[host...].firstIndex(of: "?") ?? text.endIndex
    return (
      String(text[..<mark]), text[mark...].dropFirst().split(separator: "&").map(String.init)
    )
  }

  /// Returns the beginning up to the authority (RFC 3986 section 3).
  private static func scheme(of text: String) -> Substring {
    text.prefix(text.prefix { $0 != "/" }.count + 2)
  }

  private static func authority(of text: String) -> Substring {
    text.dropFirst(scheme(of: text).count).prefix { $0 != "/" }
  }

  /// Leaves out each parameter that may be a secret. Of an address with a password, or with an `@` that
  /// may end one, only the scheme is left.
  private static func withoutSecrets(_ text: String) -> String {
    let (head, parameters) = parts(of: text)
    let authority = authority(of: head)
    var (user, hosts) = (Substring(), authority)
    if let at = authority.firstIndex(of: "@") {
      (user, hosts) = (authority[..<at], authority[at...].dropFirst())
    }
    guard !user.contains(where: { "?&".contains($0) }), !mayHoldPassword(user),
      !mayHoldPassword(head[hosts.endIndex...]),
      !head[hosts.startIndex...].contains("@"),
      hosts.split(separator: ",").allSatisfy(hasSoundPort)
    else { return String(scheme(of: text)) }
    let shown = parameters.filter { parameter in
      let name = parameter.prefix { $0 != "=" }
      guard harmless.contains(where: { $0 == name }) else { return false }
      return !["user", "dbname"].contains(name)
        || !mayHoldPassword(parameter.dropFirst(name.count + 1))
    }
    return shown.isEmpty ? head : head + "?" + shown.joined(separator: "&")
  }

  /// Whether a user or the name of a database has a colon or an equals sign, also encoded, as in
  /// `ada%3Apassword` and `password%3Dsecret`. An address with one of them is refused.
  private static func mayHoldPassword(_ name: Substring) -> Bool {
    name.contains { ":=".contains($0) }
      || name.split(separator: "%", omittingEmptySubsequences: false).dropFirst().contains {
        ["3A", "3a", "3D", "3d"].contains($0.prefix(2))
      }
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
    if Self.secrets.contains(where: { given[$0] != nil })
      || ["user", "dbname"].contains(where: { Self.mayHoldPassword(given[$0, default: ""][...]) })
    {
      throw .store(
        .refused,
        "The account store's address has a password, and other programs can read it there.",
        advice: .hidePassword,
        path: text)
    }
    // libpq waits without an end for 0, and a longer wait than this exceeds the patience of front ends.
    if let limit = given["connect_timeout"], !(1...10).contains(Int(limit) ?? 0) {
      throw .store(
        .refused,
        "The account store's address has connect_timeout=\(limit), which is not a number of seconds from 1 to 10.",
        advice: .correctAddress,
        path: text)
    }
    // Each has to be repeated, so that a variable of the environment does not replace it.
    var keywords = Self.defaults.filter { given[$0.0] == nil } + [("client_encoding", "UTF8")]
    if !isLocal(given, environment) {
      let mode = given["sslmode"] ?? "verify-full"
      guard mode == "verify-full" else {
        throw .store(
          .refused,
          "The account store is on another machine, and sslmode=\(mode) does not verify that machine.",
          advice: .verifyServer,
          path: text)
      }
      // libpq would use no TLS on a connection that Kerberos encrypts.
      keywords += [("sslmode", mode), ("gssencmode", "disable")]
    }
    return [("dbname", libraryAddress)] + keywords
  }

  private static let secrets = [
    "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
  ]

  /// The parameters of an address.
  static let parameters = harmless + secrets

  /// The parameters that hold no secret.
  static let harmless = [
    storeParameter, "host", "hostaddr", "port", "dbname", "user", "passfile", "service",
    "servicefile", "connect_timeout", "client_encoding", "options", "application_name",
    "fallback_application_name", "keepalives", "keepalives_idle", "keepalives_interval",
    "keepalives_count", "tcp_user_timeout", "replication", "gssencmode", "gssdelegation",
    "krbsrvname", "gsslib", "sslmode", "sslnegotiation", "sslcompression", "sslcert", "sslkey",
    "sslrootcert", "sslcrl", "sslcrldir", "sslsni", "sslcertmode", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "channel_binding", "requirepeer", "require_auth",
    "target_session_attrs", "load_balance_hosts", "min_protocol_version", "max_protocol_version",
  ]

  private static let defaults = [
    ("fallback_application_name", "einlass"),
    ("target_session_attrs", "read-write"), ("keepalives_idle", "10"),
    ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
    ("gssencmode", "disable"),
    // In seconds, for each host.
    ("connect_timeout", "3"),
  ]

  /// Whether every host is this machine. A service, PGHOST and PGHOSTADDR may name any.
  private func isLocal(
    _ given: [String: String], _ environment: (String) -> String?
  ) -> Bool {
    guard given["service"] == nil, environment("PGSERVICE") == nil else { return false }
    let hosts = (given["host"] ?? environment("PGHOST") ?? "")
      .split(separator: ",", omittingEmptySubsequences: false)
    let addresses = (given["hostaddr"] ?? environment("PGHOSTADDR") ?? "").split(separator: ",")
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
        "The account store's address is not of the form postgresql://USER@HOST:PORT/DATABASE?PARAMETER=VALUE.",
        advice: .correctAddress,
        path: text)
    }
    return found.values
  }

  private final class Found {
    var values: [String: String] = [:]
  }
}
