package import EinlassJSON

extension JSONValue {
  /// The JSON Pointer of the first member of a configuration that nobody else may read: a client's
  /// secret or key, or an address or a command, because it can hold a password; `nil` if there is
  /// none.
  package var firstSecretOfConfiguration: String? {
    if let name = ["proxy", "store", "keyCommand"].first(where: { self[$0] != nil }) {
      return "/\(name)"
    }
    for application in self["applications"]?.object?.members ?? [] {
      for registration in application.value.object?.members ?? [] {
        for name in ["clientSecret", "privateKey"] where registration.value[name] != nil {
          return "/applications/\(application.name)/\(registration.name)/\(name)"
        }
      }
    }
    return nil
  }
}
