import Einlass
import Testing

@testable import EinlassStorage

struct PostgresAddressTests {
  /// Whether libpq is installed, which reads addresses.
  static let hasLibrary = (try? PostgresConnection.openLibrary()) != nil

  private func keywords(
    _ text: String, _ environment: [String: String] = [:]
  ) throws -> [String: String] {
    let pairs = try PostgresAddress(text).keywords { environment[$0] }
    return Dictionary(pairs) { _, last in last }
  }

  @Test(arguments: [
    ("postgresql://db/x", true), ("postgres://db/x", true), ("/home/ada/store.db", false),
    ("postgresql:x", false), ("memory", false),
  ]) func `An address is told from a path by its beginning`(text: String, isAddress: Bool) {
    #expect(PostgresAddress.isAddress(text) == isAddress)
  }

  @Test func `A store of many is a schema`() throws {
    #expect(try PostgresAddress("postgresql://db/x").schema == "einlass")
    let named = try PostgresAddress("postgresql://db/x?einlass_store=team_7&connect_timeout=5")
    #expect(named.schema == "einlass_team_7")
    // The user ends at the first @.
    let address = "postgresql://ada@db:5432?application_name=a@b&einlass_store=team_7"
    #expect(try PostgresAddress(address).schema == "einlass_team_7")
    let longest = String(repeating: "a", count: 40)
    #expect(try PostgresAddress("postgresql://db/x?einlass_store=\(longest)").schema.count == 48)
  }

  @Test(arguments: ["", "Team", "a-b", "a\"b", "é", String(repeating: "a", count: 41)])
  func `A name that is no part of a schema's name is refused`(name: String) {
    #expect(throws: Problem.self) { try PostgresAddress("postgresql://db/x?einlass_store=\(name)") }
  }

  @Test(arguments: [
    "postgresql://ada:SECRET@db/x", "postgresql://ada@db/x?password=SECRET",
    "postgresql://ada@db/x?passwor%64=SECRET", "postgresql://ada@db/x?sslpassword=SECRET",
    "postgresql://ada:p?SECRET@db/x", "postgresql://ada:p/SECRET@db/x",
    "postgresql://ada:p/q?SECRET@db/x", "postgresql://ada:p@q/SECRET@db/x",
    "postgresql://ada@db/x?PASSWORD=SECRET", "postgresql://ada@db/x?password:SECRET",
    "postgresql://ada:SECRET", "postgresql://ada@db:5432,db2:SECRET/x",
    "postgresql://ada@db?password=SECRET@x",
    "postgresql://db/x?pwd=SECRET",
    "postgresql://ada:12?E=SECRET/@db",
    "postgresql://db/x?password =SECRET",
  ]) func `A password is no part of a message`(text: String) throws {
    #expect(!(try PostgresAddress(text).text.contains("SECRET")))
    guard Self.hasLibrary else { return }
    let problem = try #require(throws: Problem.self) { try keywords(text) }
    #expect(problem.detail == "refused" && !"\(problem)".contains("SECRET"))
  }

  @Test(arguments: ["postgresql://ada:12/SECRET@db/x", "postgresql://db?password=a@SECRET"])
  func `A password that libpq takes for a name is not shown`(text: String) throws {
    #expect(try PostgresAddress(text).text == "postgresql://")
  }

  @Test(arguments: [
    "postgresql://ada@db:5432,db2:5433/x?options=a@b&connect_timeout=5", "postgresql:///x",
    "postgresql://[::1]:5432/x", "postgresql://%2Frun%2Fpostgresql/x", "postgresql://ada@/x",
    "postgresql://db?einlass_store=team", "postgresql://ada@db:5432?application_name=a@b",
    "postgresql:///x?host=/run/postgresql&port=5433&options=-c%20x",
  ]) func `An address without a secret is shown as it was given`(text: String) throws {
    #expect(try PostgresAddress(text).text == text)
  }

  @Test(arguments: [
    "POSTGRESQL://ada:SECRET@db/x", "postgresql:/db/x", "mysql://ada:SECRET@db/x", "sqlite:///x.db",
    "host=db password=SECRET", "dbname=x", "jdbc:postgresql://ada:SECRET@db/x",
    " postgresql://ada:SECRET@db/x", "sslmode=require password=SECRET", "host = db password=SECRET",
  ]) func `An address of another form is no path of a store`(text: String) throws {
    let problem = try #require(throws: Problem.self) { try StoreLocation(path: text) }
    #expect(problem.detail == "refused" && !"\(problem)".contains("SECRET"))
    #expect(problem.message.contains("postgresql://USER@HOST:PORT/DATABASE"))
  }

  @Test(arguments: ["./mysql:/x", "/tmp/a:/x", "a:b", "my=x", "./user=x", "hosts"])
  func `A path with a colon or an equals sign is a path`(path: String) throws {
    #expect(try StoreLocation(path: path).path.hasSuffix(path))
  }

  @Test(
    .enabled(if: hasLibrary),
    arguments: [
      ("postgresql://db.example.com/x", [:]), ("postgresql://localhost,db.example.com/x", [:]),
      ("postgresql:///x?hostaddr=10.0.0.1", [:]), ("postgresql:///x?service=team", [:]),
      ("postgresql:///x", ["PGHOST": "db.example.com"]), ("postgresql:///x", ["PGSERVICE": "team"]),
      ("postgresql:///x", ["PGHOSTADDR": "10.0.0.1"]),
      ("postgresql://localhost/x", ["PGHOSTADDR": "127.0.0.1,10.0.0.1"]),
      ("postgresql://127.evil.example/x", [:]),
    ]) func `Another machine must prove itself`(text: String, environment: [String: String]) throws
  {
    #expect(try keywords(text, environment)["sslmode"] == "verify-full")
    let separator = text.contains("?") ? "&" : "?"
    let problem = try #require(throws: Problem.self) {
      try keywords(text + separator + "sslmode=verify-ca", environment)
    }
    #expect(problem.detail == "refused")
  }

  @Test(
    .enabled(if: hasLibrary),
    arguments: [
      "postgresql:///x", "postgresql:///x?host=/run/postgresql", "postgresql://localhost/x",
      "postgresql://127.0.0.1:5433/x", "postgresql://[::1]/x",
    ]) func `This machine needs no certificate`(text: String) throws
  {
    #expect(try keywords(text)["sslmode"] == nil)
    #expect(try keywords(text, ["PGHOSTADDR": "127.0.0.1"])["sslmode"] == nil)
  }

  @Test(.enabled(if: hasLibrary)) func `The waits of the address win`() throws {
    let given = try keywords("postgresql:///x?connect_timeout=9&target_session_attrs=any")
    #expect(given["connect_timeout"] == nil && given["target_session_attrs"] == nil)
    #expect(try keywords("postgresql:///x")["target_session_attrs"] == "read-write")
  }

  @Test(.enabled(if: hasLibrary), arguments: ["0", "11", "-1", "soon"])
  func `A wait for a connection of other than 1 to 10 seconds is refused`(seconds: String) throws {
    let problem = try #require(throws: Problem.self) {
      try keywords("postgresql:///x?connect_timeout=\(seconds)")
    }
    #expect(problem.detail == "refused" && problem.message.contains("from 1 to 10"))
    #expect(try keywords("postgresql:///x?connect_timeout=1")["sslmode"] == nil)
    #expect(try keywords("postgresql:///x?connect_timeout=10")["sslmode"] == nil)
  }

  @Test(.enabled(if: hasLibrary)) func `An unreadable address is refused without its text`() throws
  {
    let problem = try #require(throws: Problem.self) {
      try keywords("postgresql://db:port/x?nothing=1")
    }
    #expect(problem.detail == "refused")
  }
}
