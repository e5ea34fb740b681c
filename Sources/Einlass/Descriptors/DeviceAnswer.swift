extension FlowDescriptor.DeviceCode {
  /// JSON pointers into the answer to `deviceAuthorization`. Of several, the first with a value
  /// counts.
  struct Answer: Sendable, Equatable {
    var code = ["/device_code"]
    var userCode = ["/user_code"]
    // Some servers still use the name of an early draft.
    var page = ["/verification_uri", "/verification_url"]
    var wholePage = ["/verification_uri_complete"]
    var expiresIn = ["/expires_in"]
    var interval = ["/interval"]

    init() {}

    /// Reads the word; the places of RFC 8628 section 3.2 without it.
    init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
      guard reader.has(name) else { return }
      let reader = try reader.object(
        name, members: ["code", "userCode", "page", "wholePage", "expiresIn", "interval"])
      func set(_ name: String, _ place: inout [String]) throws(DescriptorReader.Fault) {
        if let pointer = try reader.optional(name, reader.pointer) { place = [pointer] }
      }
      try set("code", &code)
      try set("userCode", &userCode)
      try set("page", &page)
      try set("wholePage", &wholePage)
      try set("expiresIn", &expiresIn)
      try set("interval", &interval)
    }
  }
}
