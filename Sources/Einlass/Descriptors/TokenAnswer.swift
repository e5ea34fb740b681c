internal import EinlassJSON

/// The places of a token in an answer, for a provider with others than RFC 6749 section 5.1.
///
///     "tokenAnswer": {"accessToken": "/authed_user/access_token", "expiresIn": "/lifetime",
///                     "refreshToken": "/authed_user/renewal", "scopes": "/scopes",
///                     "idToken": "/id", "tokenType": "/type", "tokenTypes": ["user"]}
///
/// The places are JSON pointers. A member without one has the standard's name in the object of the
/// access token, because only the members of one object belong together. `tokenTypes` are values of
/// `token_type`, besides Bearer, of tokens that are sent as bearer tokens. With a `tokenAnswer` of
/// its own, which may be `{}`, the answer to `refresh` has other places.
struct TokenAnswer: Sendable, Equatable {
  /// The format of answers with tokens.
  enum Format: String, CaseIterable {
    case json, form
  }

  /// The members of an answer, by their names in a descriptor.
  enum Member: String, CaseIterable {
    case accessToken, refreshToken, expiresIn, scopes, idToken, tokenType

    /// RFC 6749 section 5.1, OpenID Connect Core 1.0 section 3.1.3.3.
    var standard: String {
      switch self {
      case .accessToken: "access_token"
      case .refreshToken: "refresh_token"
      case .expiresIn: "expires_in"
      case .scopes: "scope"
      case .idToken: "id_token"
      case .tokenType: "token_type"
      }
    }
  }

  var format: Format
  /// A JSON pointer to the person, for identity requests that need them.
  var subject: String?
  private var pointers: [Member: String] = [:]
  /// In lower case.
  private var types: [String] = []

  /// Reads the words of a token endpoint, or with `other` the ones of its refresh.
  init(
    _ name: String, in reader: DescriptorReader, like other: TokenAnswer? = nil
  ) throws(DescriptorReader.Fault) {
    format = other?.format ?? .json
    if other == nil {
      subject = try reader.optional("subject", reader.pointer)
      if reader.has("answer") { format = try reader.word("answer", Format.self) }
    }
    guard reader.has(name) else { return }
    let reader = try reader.object(
      name, members: Member.allCases.map(\.rawValue) + ["tokenTypes"])
    for member in Member.allCases {
      pointers[member] = try reader.optional(member.rawValue, reader.pointer)
    }
    types = try reader.optional("tokenTypes", reader.strings)?.map { $0.lowercased() } ?? []
    // A token of one of these types is not a bearer token.
    guard Set(["dpop", "mac", "pop", "n_a"]).isDisjoint(with: types), types.count <= 8 else {
      throw reader.fault("tokenTypes", "Expected at most 8 types, without DPoP, MAC, PoP and N_A.")
    }
  }

  /// The access token's place, as the end of a sentence.
  var tokenPlace: String { pointers[.accessToken] ?? Member.accessToken.standard }

  /// Returns the token of an answer by the names of the standard.
  func standard(_ answer: JSONValue?) -> JSONValue? {
    guard let answer, !pointers.isEmpty || !types.isEmpty else { return answer }
    let last = pointers[.accessToken]?.lastIndex(of: "/")
    let object = last.flatMap { pointers[.accessToken]?[..<$0] } ?? ""
    var members: JSONObject = [:]
    for member in Member.allCases {
      members[member.standard] = answer.at(
        pointer: pointers[member] ?? "\(object)/\(member.standard)")
    }
    if let type = members["token_type"]?.string?.lowercased(), types.contains(type) {
      members["token_type"] = "Bearer"
    }
    return .object(members)
  }
}
