import Einlass
import EinlassCrypto
import TestSupport

/// Accounts, registrations and answers for the flow scripts.
enum Sample {
  static let application = "editor"
  static let registration = ClientRegistration(clientID: "APP", clientSecret: Secret("APP-SECRET"))

  /// Signed-in accounts of the reverse-auth provider, with the system's registration and token.
  static func chirpStore(
    _ usernames: [String] = ["ada"], grant: AccessGrant.State? = .granted
  ) -> ScriptedStore {
    let accounts = usernames.map { account($0, "twitter") }
    let binding = ProviderBinding(
      origins: ["https://api.twitter.com"], clientID: "SYS", flowKind: .reverseAuth)
    let credential = StoredCredential(
      role: .system,
      registration: ClientRegistration(clientID: "SYS", clientSecret: Secret("SYS-SECRET")),
      credential: .oauth1(
        OAuth1Credential(token: Secret("SYS-TOKEN"), tokenSecret: Secret("SYS-TOKEN-SECRET"))),
      binding: binding)
    return ScriptedStore(
      accounts: accounts, grants: grants("twitter", grant),
      credentials: Dictionary(uniqueKeysWithValues: accounts.map { ($0.id, [credential]) }))
  }

  /// The only account of the system-token provider, with credentials for these client ids.
  static func graphStore(
    grant: AccessGrant.State? = .granted, issuedTo clients: [String] = ["SYSFB"],
    health: Account.Health = .ok
  ) -> ScriptedStore {
    var account = account("ada@example.org", "facebook")
    account.health = health
    let credentials = clients.map { client in
      StoredCredential(
        role: client == "APP-MINTED" || client == "APP" && clients.count > 1
          ? .application : .system,
        registration: ClientRegistration(clientID: client),
        credential: .oauth2(OAuth2Credential(accessToken: Secret("TOKEN-\(client)"))),
        binding: ProviderBinding(
          origins: ["https://graph.facebook.com"], clientID: client, flowKind: .systemToken))
    }
    return ScriptedStore(
      accounts: [account], grants: grants("facebook", grant), credentials: [account.id: credentials]
    )
  }

  static func account(_ username: String, _ provider: String) -> Account {
    Account(
      id: Account.ID(rawValue: "a_\(username)"), provider: provider, username: username,
      isSignedIn: true, addedAt: 1)
  }

  static func grants(_ provider: String, _ state: AccessGrant.State?) -> [AccessGrant] {
    state.map {
      [
        AccessGrant(
          application: application, provider: provider, state: $0, permissions: [], changedAt: 1)
      ]
    } ?? []
  }

  static func engine(_ script: Script) throws -> Einlass {
    Einlass(
      catalog: ProviderCatalog.builtIn, store: script.store.accountStore,
      effects: script.effects)
  }

  // MARK: Answers

  static let requestToken =
    "OAuth oauth_token=\"RT-SECRET-VALUE\", oauth_signature=\"RT-SECRET-SIGNATURE\""
  static let accessToken =
    "oauth_token=USER-TOKEN&oauth_token_secret=USER-SECRET&user_id=7&screen_name=ada"
  static let chirpIdentity = """
    {"id_str":"7","name":"Ada L.","screen_name":"ada","email":"ada@example.org",\
    "profile_image_url_https":"https://pbs.example/1/x_normal.png"}
    """
  static let minted = #"{"access_token":"MINTED","token_type":"bearer","expires_in":3600}"#
  static let renewed = #"{"access_token":"RENEWED","token_type":"bearer","expires_in":7200}"#
  static let graphIdentity = #"{"id":"42","name":"Ada Lovelace","email":"ada@example.org"}"#

  static func graphError(_ code: Int, _ subcode: Int? = nil) -> Script.Reply {
    let subcode = subcode.map { ",\"error_subcode\":\($0)" } ?? ""
    return .json(
      #"{"error":{"message":"No.","type":"OAuthException","code":\#(code)\#(subcode)}}"#,
      status: 400)
  }

  static func chirpError(_ code: Int, status: Int) -> Script.Reply {
    .json(#"{"errors":[{"code":\#(code),"message":"Because."}]}"#, status: status)
  }
}
