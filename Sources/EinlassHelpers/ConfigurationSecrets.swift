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
        let path = "/applications/\(application.name)/\(registration.name)"
        if let name = registration.value.firstSecretOfRegistration { return "\(path)/\(name)" }
        for flow in registration.value["flows"]?.object?.members ?? [] {
          guard let name = flow.value.firstSecretOfRegistration else { continue }
          return "\(path)/flows/\(flow.name)/\(name)"
        }
      }
    }
    return nil
  }

  private var firstSecretOfRegistration: String? {
    ["clientSecret", "privateKey"].first { self[$0] != nil }
  }
}
