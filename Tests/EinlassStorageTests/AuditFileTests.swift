import Einlass
import Foundation
import Testing

@testable import EinlassStorage

@Suite struct AuditFileTests {
  private let home: StoreHome
  private let location: StoreLocation

  init() throws {
    home = try StoreHome()
    location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
  }

  private func all(_ lines: AuditLines) throws -> [String] {
    var (found, position, hasMore): ([String], AuditLines.Position?, Bool) = ([], nil, true)
    while hasMore {
      let part = try #require(try lines.part(position, .usual))
      found = part.lines.map { String(decoding: $0.bytes, as: UTF8.self) } + found
      (position, hasMore) = (part.lines.first?.position, part.hasMore)
    }
    return found
  }

  @Test func `A trail without entries is empty, and reading creates no file`() throws {
    let lines = AuditFile(location: location).lines
    #expect(try all(lines).isEmpty)
    #expect(try lines.remove(.usual) { _ in true } == 0)
    #expect(!FileManager.default.fileExists(atPath: home.directory))
  }

  @Test func `Several writers at once lose no line`() async throws {
    let location = location
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          let lines = AuditFile(location: location).lines
          for number in 0..<50 { try? lines.append(Array("\(writer)-\(number)".utf8), .usual) }
        }
      }
    }
    let found = try all(AuditFile(location: location).lines)
    #expect(Set(found).count == 400 && found.count == 400)
  }

  @Test func `A file that has grown too long loses its older half`() throws {
    let lines = AuditFile(location: location, limitBytes: 1000).lines
    let written = (100..<250).map { "line \($0)" }
    for line in written { try lines.append(Array(line.utf8), .usual) }
    let found = try all(lines)
    #expect(found.count <= 110 && found.count >= 45)
    #expect(found == Array(written.suffix(found.count)))
  }

  @Test(arguments: ["", "x", "1", "1-", "-1-2", "99999999999999999999-1", "1-2-3"])
  func `An invalid position finds no entries`(position: String) throws {
    let lines = AuditFile(location: location).lines
    try lines.append([0x61], .usual)
    #expect(try lines.part(position, .usual) == nil)
  }
}
