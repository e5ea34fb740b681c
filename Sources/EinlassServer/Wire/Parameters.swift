internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

// The parameters that several methods share.

extension TypedField where Value == String {
  static let provider = required("provider", .identifier, "A provider's id, from providers.list.")
}

extension TypedField where Value == Account.ID {
  static let account = required("account", .account, "An account's id, from accounts.list.")
}

extension TypedField where Value == String? {
  static let resource = optional(
    "resource", .string(maxBytes: 2048),
    "The protected resource of the credential, by its name in the result of accounts.signIn."
  ).refusingNull
  static let application = optional(
    "application", .identifier, "The name of the application; the caller's own when missing.")
  static let cursor = optional(
    "cursor", .string(maxBytes: 1024), "The start of the page: nextCursor of the previous page.")
}

extension TypedField where Value == Int64? {
  static let limit = optional("limit", .integer(1...1000), "The largest number of entries.")
}

extension TypedField where Value == [String]? {
  static let permissions = optional(
    "permissions", .identifiers(max: 64), "The permissions of the application.")
}

extension TypedField where Value == [AccessGrant.Inclusion] {
  static let includes = optional(
    "includes", .array(of: AccessGrant.Inclusion.self, max: 8), default: [],
    "Further values for the application; refreshToken: allows includeRefreshToken.")
}

extension TypedField where Value == AccessGrant.Audience? {
  static let audience = optional(
    "audience", .oneOf(AccessGrant.Audience.self, placeholder: .onlyMe), "The audience of posts.")
}

extension TypedSchema where Value == Account.ID {
  static let account = TypedSchema(.identifier, placeholder: Account.ID(rawValue: "")) {
    $0.string.map(Account.ID.init)
  }
}

extension TypedSchema where Value == UnixTime {
  static let unixTime = TypedSchema.integer(0...253_402_300_799)
}

extension TypedSchema where Value == [Parameter] {
  /// A map of texts of at most this number of bytes, in the order of its members.
  static func parameters(maxBytes: Int) -> TypedSchema {
    TypedSchema(.map(.string(maxBytes: maxBytes)), placeholder: []) { json in
      json.object?.members.compactMap { member in
        member.value.string.map { Parameter(member.name, $0) }
      }
    }
  }
}

extension TypedSchema where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  static func oneOf(_ words: Value.Type, placeholder: Value) -> TypedSchema {
    TypedSchema(Schema(words), placeholder: placeholder) { $0.string.flatMap(Value.init) }
  }
}

extension TypedSchema {
  static func array<Word: RawRepresentable & CaseIterable & Sendable>(
    of words: Word.Type, max: Int
  ) -> TypedSchema where Value == [Word], Word.RawValue == String {
    TypedSchema(.array(Schema(words), max: max), placeholder: []) {
      $0.strings?.compactMap(Word.init)
    }
  }
}
