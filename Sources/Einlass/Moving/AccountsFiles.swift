/// Access to accounts files in the person's folders: closures that `EinlassStorage` fills. Paths
/// are absolute.
public struct AccountsFiles: Sendable {
  /// Throws the error that `write` would throw for this path, so that it is reported before the
  /// person is asked for a passphrase.
  public var prepare: @Sendable (_ path: String, _ replaces: Bool) throws(Problem) -> Void
  /// Writes a private file (mode 0600), atomically and durably. Replaces an existing accounts file
  /// only if `replaces` is set.
  public var write:
    @Sendable (_ path: String, _ bytes: [UInt8], _ replaces: Bool) throws(Problem) -> Void
  /// Reads the whole file. It may be readable by other users, but not writable.
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
