import Einlass
import Foundation
import Glibc
import Testing

@testable import EinlassStorage

/// The file that a renewal leaves behind if its process is killed.
struct BegunRenewalTests {
  static let begun = BegunRenewal(account: Account.ID(rawValue: "a_ada"), generation: 12)
  static let another = BegunRenewal(account: Account.ID(rawValue: "a_bob"), generation: 3)

  @Test func `Another process sees a renewal from its begin to its end`() throws {
    let home = try StoreHome()
    let (renewals, others) = (home.store().begunRenewals, home.store().begunRenewals)
    #expect(others.all().isEmpty)
    for begun in [Self.begun, Self.another, Self.begun] { renewals.begin(begun) }
    #expect(others.all() == [Self.begun, Self.another])
    others.end(Self.begun)
    others.end(Self.begun)
    #expect(renewals.all() == [Self.another])
  }

  @Test func `Unknown files, and a folder that others can reach, are not read as renewals`()
    throws
  {
    let home = try StoreHome()
    let renewals = home.store().begunRenewals
    renewals.begin(Self.begun)
    let folder = home.directory + "/renewals"
    for name in ["note", "a_ada.x", "a.b.3", ".1", "a_ada.-1"] {
      try Data().write(to: URL(filePath: "\(folder)/\(name)"))
    }
    #expect(renewals.all() == [Self.begun])
    chmod(folder, 0o755)
    renewals.begin(Self.another)
    #expect(renewals.all().isEmpty)
    chmod(folder, 0o700)
    #expect(renewals.all() == [Self.begun])
  }
}
