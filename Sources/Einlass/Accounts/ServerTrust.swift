internal import EinlassJSON

/// The trust of one account in a server of the person's own, beyond the trusted authorities of the
/// process. Part of the binding of the account's credentials.
public struct ServerTrust: Sendable, Equatable {
  /// The accepted public key of the server, in place of a verified certificate: the SHA-256 digest
  /// of its SubjectPublicKeyInfo (RFC 7469 section 2.4) in libcurl's form, `sha256//` and base64.
  public var publicKey: String?
  /// The absolute path of a PEM file with the authorities of this server, in place of the file of
  /// the process.
  public var caFile: String?
  /// Whether a password may be sent to another machine by plain http.
  public var allowsPlainHTTP = false

  public init(publicKey: String? = nil, caFile: String? = nil, allowsPlainHTTP: Bool = false) {
    self.publicKey = publicKey
    self.caFile = caFile
    self.allowsPlainHTTP = allowsPlainHTTP
  }

  /// The trust as JSON text for the store; `nil` for nothing beyond the usual.
  public var text: String? {
    let object = JSONObject(present: [
      "publicKey": publicKey.map(JSONValue.string), "caFile": caFile.map(JSONValue.string),
      "plainHTTP": allowsPlainHTTP ? true : nil,
    ])
    return object.members.isEmpty ? nil : JSONValue.object(object).text
  }

  /// Reads the `text`; `nil` for a text that has another form.
  public init?(text: String?) {
    guard let text else {
      self.init()
      return
    }
    guard let value = try? JSONReader.read(Array(text.utf8)), value.object != nil else {
      return nil
    }
    self.init(
      publicKey: value["publicKey"]?.string, caFile: value["caFile"]?.string,
      allowsPlainHTTP: value["plainHTTP"]?.bool ?? false)
    guard publicKey.map(Self.isPublicKey) ?? true, self.text == text else { return nil }
  }

  /// Whether the text is a public key in the form of `publicKey`.
  public static func isPublicKey(_ text: String) -> Bool {
    let prefix = "sha256//"
    guard text.hasPrefix(prefix), text.utf8.count == prefix.utf8.count + 44 else { return false }
    return Base64.decode(String(text.dropFirst(prefix.utf8.count)))?.count == 32
  }
}

/// The certificate that a server presents. RFC 5280.
public struct ServerCertificate: Sendable, Equatable {
  /// The reason why a certificate is not trusted.
  public enum Fault: String, Sendable, CaseIterable {
    case selfSigned, unknownAuthority, expired, notYetValid, otherHost
    /// Any other reason.
    case untrusted
  }

  /// In the form of `ServerTrust.publicKey`.
  public var publicKey: String
  /// `nil` for a trusted certificate.
  public var fault: Fault?
  /// The last second of its validity.
  public var endsAt: UnixTime

  public init(publicKey: String, fault: Fault?, endsAt: UnixTime) {
    self.publicKey = publicKey
    self.fault = fault
    self.endsAt = endsAt
  }
}
