import EinlassCrypto
import TestSupport
import Testing

@testable import Einlass

/// The parts of the provider's word that an account keeps: whether the provider has named the subject, and
/// whether it has verified the address.
@Suite struct ReportedAccountTests {
  private static func adopted(
    _ identity: Identity?, reportedBy reporter: Int64 = 1,
    _ change: (inout Account) -> Void = { _ in }
  ) -> Account {
    var account = Sample.account("ada", "example")
    change(&account)
    account.adopt(identity, at: 7, isFresh: true, reportedBy: reporter)
    return account
  }

  private static func identity(_ id: String, isVerified: Bool = true) -> Identity {
    var identity = Identity(id: id, email: "ada@example.org")
    identity.isEmailVerified = isVerified
    return identity
  }

  @Test func `The provider's answer names the subject and vouches for the address`() {
    let account = Self.adopted(Self.identity("7"))
    #expect(account.subject == "7" && account.isReported && account.isEmailVerified)
    let unverified = Self.adopted(Self.identity("7", isVerified: false)) {
      $0.isEmailVerified = true
    }
    #expect(unverified.isReported && !unverified.isEmailVerified)
  }

  @Test func `An answer about another subject than the account's proves nothing`() {
    let account = Self.adopted(Self.identity("7")) { $0.subject = "8" }
    #expect(account.subject == "8" && account.email == "ada@example.org")
    #expect(!account.isReported && !account.isEmailVerified)
    #expect(Self.adopted(Self.identity("8")) { $0.subject = "8" }.isReported)
  }

  @Test func `Without an answer, and with an assertion alone, the account is as before`() {
    #expect(!Self.adopted(nil).isReported)
    #expect(!Self.adopted(Identity(id: "7"), reportedBy: 0).isReported)
    let known = Self.adopted(nil) {
      ($0.subject, $0.email, $0.reportedBy, $0.isEmailVerified) = ("7", "a@x", 1, true)
    }
    #expect(known.isReported && known.isEmailVerified)
    // An answer without an address says nothing about the stored one.
    let silent = Self.adopted(Identity(id: "7")) {
      ($0.subject, $0.email, $0.reportedBy, $0.isEmailVerified) = ("7", "a@x", 1, true)
    }
    #expect(silent.isReported && silent.isEmailVerified)
    // The word of another description about the address does not count.
    let other = Self.adopted(Identity(id: "7")) {
      ($0.subject, $0.email, $0.reportedBy, $0.isEmailVerified) = ("7", "a@x", 2, true)
    }
    #expect(other.reportedBy == 1 && !other.isEmailVerified)
  }

  @Test func `Reverse auth reports the owner of an added account`() async throws {
    let script = Script(
      [.text(Sample.requestToken), .text(Sample.accessToken), .json(Sample.chirpIdentity)],
      answers: [.accept(account: Account.ID(rawValue: "a_ada"))],
      store: Sample.chirpStore())
    #expect(script.store.accounts.allSatisfy { !$0.isReported })
    _ = try await Sample.engine(script).perform(
      PerformRequest(
        application: Sample.application, registration: Sample.registration, provider: "twitter"),
      asking: script.asker())
    let account = try #require(script.store.accounts.first { $0.id.rawValue == "a_ada" })
    #expect(account.subject == "7" && account.isReported && !account.isEmailVerified)
  }

  @Test func `A subject that a front end passes is not reported`() throws {
    let script = Script([])
    let added = try Sample.engine(script).addAccount(
      AddAccountRequest(
        provider: "twitter", username: "ada", subject: "7",
        credential: .oauth1(OAuth1Credential(token: Secret("T"), tokenSecret: Secret("TS"))),
        registration: Sample.registration),
      patience: .usual)
    #expect(added.account.subject == "7" && !added.account.isReported)
  }
}
