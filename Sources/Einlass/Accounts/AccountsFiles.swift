/// Files of accounts where the person keeps them: closures that `EinlassStorage` fills. Paths are absolute.
public struct AccountsFiles: Sendable {
  /// Throws what would keep `write` from writing there, before anybody is asked for a passphrase.
  public var prepare: @Sendable (_ path: String, _ replaces: Bool) throws(Problem) -> Void
  /// Writes a private file (0600), whole and durable or not at all; over one that is there only where it `replaces`.
  public var write:
    @Sendable (_ path: String, _ bytes: [UInt8], _ replaces: Bool) throws(Problem) -> Void
  /// The whole file. Others may have been able to read it, not to write it.
  public var read: @Sendable (_ path: String) throws(Problem) -> [UInt8]

  public init(
    prepare: @escaping @Sendable (String, Bool) throws(Problem) -> Void,
    write: @escaping @Sendable (String, [UInt8], Bool) throws(Problem) -> Void,
    read: @escaping @Sendable (String) throws(Problem) -> [UInt8]
  ) {
    self.prepare = prepare
    self.write = write
    self.read = read
  }
}
