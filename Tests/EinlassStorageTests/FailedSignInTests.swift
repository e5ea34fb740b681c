import Einlass
import Foundation
import Glibc
import Testing

@testable import EinlassStorage

/// The file with the reason of a failed sign-in, for the programs that waited for it.
struct FailedSignInTests {
  static let failure = FailedSignIns.Failure(
    id: "x1", at: 1_700_000_000, reason: .userCanceled, message: "Cancelled.\nTry again.")

  @Test func `Another process reads the last failure of each sign-in`() throws {
    let home = try StoreHome()
    let (own, other) = (home.store().failedSignIns, home.store().failedSignIns)
    #expect(other.last("sign-in-a") == nil)
    own.record("sign-in-a", Self.failure)
    #expect(other.last("sign-in-a") == Self.failure)
    #expect(other.last("sign-in-b") == nil)
    var later = Self.failure
    later.id = "x2"
    own.record("sign-in-a", later)
    #expect(other.last("sign-in-a") == later)
  }

  @Test(arguments: ["", "1 x userCanceled", "1 x nothing\nm", "x x userCanceled\nm", "1 x\nm"])
  func `A malformed file counts as no failure`(text: String) throws {
    let home = try StoreHome()
    let failures = home.store().failedSignIns
    failures.record("sign-in-a", Self.failure)
    let path = home.directory + "/sign-ins/sign-in-a"
    try Data(text.utf8).write(to: URL(filePath: path))
    chmod(path, 0o600)
    #expect(failures.last("sign-in-a") == nil)
  }
}
