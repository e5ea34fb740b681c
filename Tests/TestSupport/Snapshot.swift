public import Einlass

extension AccountStore {
  /// Reads all unencrypted content of the store, without a limit.
  public func snapshot(_ patience: Patience) throws(Problem) -> Snapshot {
    try read(patience) { reader throws(Problem) in
      Snapshot(
        revision: try reader.revision,
        accounts: try reader.accounts(of: nil, after: .min, limit: .max),
        grants: try reader.grants(after: nil, limit: .max),
        registrations: try reader.registrations)
    }
  }
}
