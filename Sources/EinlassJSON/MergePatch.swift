extension JSONValue {
  /// Returns this value with a JSON Merge Patch applied (RFC 7396 section 2).
  public func merging(_ patch: JSONValue) -> JSONValue {
    guard case .object(let changes) = patch else { return patch }
    var result = object ?? JSONObject()
    for change in changes.members {
      if change.value.isNull {
        result[change.name] = nil
      } else {
        result[change.name] = (result[change.name] ?? .null).merging(change.value)
      }
    }
    return .object(result)
  }
}
