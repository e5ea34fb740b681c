import Einlass
import Testing

@testable import EinlassStorage

struct KeptRowsTests {
  private static let sql = "SELECT id FROM account"

  /// Rows of revision 7, kept while a listener tells of each change.
  private func kept() -> KeptRows {
    let kept = KeptRows()
    kept.setListening(true)
    keep([[.text("a")]], in: kept, at: 7)
    return kept
  }

  private func keep(_ rows: [[SQLValue]], in kept: KeptRows, at revision: Int64, era: Int? = nil) {
    kept.keep(Self.sql, [], rows, at: revision, in: era ?? kept.mark.era)
  }

  /// Returns the ids; `nil` without kept rows.
  private func ids(_ kept: KeptRows) -> [String]? {
    guard let database = KeptDatabase(kept, path: "postgresql:///x") else { return nil }
    return try? database.all(Self.sql) { row throws(Problem) in try row.text(0) }
  }

  @Test func `Rows are kept while a listener tells of each change`() {
    let kept = kept()
    #expect(ids(kept) == ["a"])
    kept.setListening(false)
    #expect(ids(kept) == nil)
    keep([[.text("b")]], in: kept, at: 8)
    #expect(ids(kept) == nil)
  }

  @Test func `A newer revision discards the rows`() {
    let kept = kept()
    kept.note(7)
    #expect(ids(kept) == ["a"])
    kept.note(8)
    #expect(ids(kept) == nil)
    // A transaction that began before the change.
    keep([[.text("a")]], in: kept, at: 7)
    #expect(ids(kept) == nil)
  }

  @Test func `A forged revision discards the rows until the next transaction`() {
    let kept = kept()
    kept.note(.max)
    #expect(ids(kept) == nil)
    let mark = kept.mark
    kept.note(7, after: mark)
    keep([[.text("b")]], in: kept, at: 7, era: mark.era)
    #expect(ids(kept) == ["b"])
  }

  @Test func `A change that is heard of during a transaction counts`() {
    let kept = kept()
    let mark = kept.mark
    kept.note(8)
    kept.note(7, after: mark)
    keep([[.text("a")]], in: kept, at: 7, era: mark.era)
    #expect(ids(kept) == nil)
  }

  @Test func `A lower revision than before discards the rows`() {
    let kept = kept()
    #expect(!kept.noteAnswered(7))
    #expect(ids(kept) == ["a"])
    let before = kept.mark.era
    #expect(kept.noteAnswered(3))
    #expect(ids(kept) == nil)
    keep([[.text("a")]], in: kept, at: 7, era: before)
    #expect(ids(kept) == nil)
    keep([[.text("b")]], in: kept, at: 3)
    #expect(ids(kept) == ["b"])
  }

  @Test func `A transaction that began before the rows were forgotten keeps nothing`() {
    let kept = kept()
    let before = kept.mark.era
    kept.forget()
    keep([[.text("a")]], in: kept, at: 7, era: before)
    #expect(ids(kept) == nil)
    keep([[.text("a")]], in: kept, at: 7)
    #expect(ids(kept) == ["a"])
  }

  @Test func `A statement without kept rows makes the whole answer incomplete`() throws {
    let kept = kept()
    let database = try #require(KeptDatabase(kept, path: "postgresql:///x"))
    #expect(throws: Problem.self) {
      try database.all("SELECT 1") { row throws(Problem) in try row.integer(0) }
    }
    #expect(database.isIncomplete)
    #expect(throws: Problem.self) {
      try database.all(Self.sql) { row throws(Problem) in try row.text(0) }
    }
  }

  @Test func `An answer never has rows of two revisions`() throws {
    let kept = kept()
    let database = try #require(KeptDatabase(kept, path: "postgresql:///x"))
    keep([[.text("b")]], in: kept, at: 8)
    #expect(throws: Problem.self) {
      try database.all(Self.sql) { row throws(Problem) in try row.text(0) }
    }
  }
}
