internal import EinlassJSON

/// The default permissions and audience of a provider, and its own names for them.
///
///     "permissions": {"defaults": ["email"], "separator": ",",
///                     "audience": {"default": "onlyMe", "onlyMe": "me", "friends": "friends",
///                                  "everyone": "everyone"}}
///
/// All are optional. `separator` stands between scopes too; without the word a blank.
struct PermissionsDescriptor: Sendable, Equatable {
  /// The permissions for an empty or absent list.
  var defaults: [String]
  /// The separator of permissions in one parameter.
  var separator: String
  /// The default audience; `nil` if the provider has no audiences.
  var audience: AccessGrant.Audience?
  /// The provider's names of the audiences.
  var audienceValues: [AccessGrant.Audience: String]

  static let none = PermissionsDescriptor(
    defaults: [], separator: " ", audience: nil, audienceValues: [:])

  private init(
    defaults: [String], separator: String, audience: AccessGrant.Audience?,
    audienceValues: [AccessGrant.Audience: String]
  ) {
    self.defaults = defaults
    self.separator = separator
    self.audience = audience
    self.audienceValues = audienceValues
  }

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else {
      self = .none
      return
    }
    let reader = try reader.object(name, members: ["defaults", "separator", "audience"])
    defaults = try reader.optional("defaults", reader.strings) ?? []
    guard defaults.count <= 64, defaults.allSatisfy(isIdentifier) else {
      throw reader.fault(
        "defaults",
        "Expected at most 64 texts of at most 256 bytes without control characters.")
    }
    separator = try reader.optional("separator", reader.string) ?? " "
    audienceValues = [:]
    guard reader.has("audience") else { return }
    let audiences = AccessGrant.Audience.allCases
    let audienceReader = try reader.object(
      "audience", members: ["default"] + audiences.map(\.rawValue))
    audience = try audienceReader.word("default", AccessGrant.Audience.self)
    for audience in audiences {
      audienceValues[audience] = try audienceReader.string(audience.rawValue)
    }
  }
}
