internal import EinlassJSON

/// What access is asked for when the application does not say, and the provider's words for it.
struct PermissionsDescriptor: Sendable, Equatable {
  /// For an empty or absent list.
  var defaults: [String]
  /// Between permissions in one parameter.
  var separator: String
  /// The audience when none is asked for; `nil` where the provider knows no audience.
  var audience: AccessGrant.Audience?
  /// The provider's words for the audiences.
  var audienceWords: [AccessGrant.Audience: String]

  /// A provider without permissions.
  static let none = PermissionsDescriptor(
    defaults: [], separator: " ", audience: nil, audienceWords: [:])

  private init(
    defaults: [String], separator: String, audience: AccessGrant.Audience?,
    audienceWords: [AccessGrant.Audience: String]
  ) {
    self.defaults = defaults
    self.separator = separator
    self.audience = audience
    self.audienceWords = audienceWords
  }

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else {
      self = .none
      return
    }
    let reader = try reader.object(name, words: ["defaults", "separator", "audience"])
    defaults = try reader.strings("defaults")
    guard defaults.count <= 64, defaults.allSatisfy(isIdentifier) else {
      throw reader.fault(
        "defaults",
        "At most 64 texts of at most 256 bytes, without control characters, should stand here.")
    }
    separator = try reader.string("separator")
    audienceWords = [:]
    guard reader.has("audience") else { return }
    let audiences = AccessGrant.Audience.allCases
    let words = try reader.object("audience", words: ["default"] + audiences.map(\.rawValue))
    audience = try words.word("default", AccessGrant.Audience.self)
    for audience in audiences { audienceWords[audience] = try words.string(audience.rawValue) }
  }
}
