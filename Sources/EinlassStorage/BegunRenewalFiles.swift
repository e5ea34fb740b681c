internal import Einlass
internal import EinlassSystem

extension BegunRenewals {
  /// Those of a store in a file: an empty file for each, `renewals/<account>.<generation>` beside the store. Nothing is
  /// synchronized, because a power cut takes longer than any server's grace.
  static func beside(_ location: StoreLocation) -> BegunRenewals {
    let path = location.directory + "/renewals"
    return BegunRenewals(
      begin: { begun in
        try? SafeDirectory.create(path).createEmpty(begun.fileName)
      },
      end: { begun in
        try? SafeDirectory.open(path)?.remove(begun.fileName)
      },
      all: {
        Set((try? SafeDirectory.open(path)?.names())?.compactMap(BegunRenewal.init) ?? [])
      })
  }
}

extension BegunRenewal {
  fileprivate var fileName: String { "\(account.rawValue).\(generation)" }

  /// `nil` for a file that is none of ours.
  fileprivate init?(fileName: String) {
    let parts = fileName.split(separator: ".")
    guard parts.count == 2, let generation = Int64(parts[1]), generation >= 0 else { return nil }
    self.init(account: Account.ID(rawValue: String(parts[0])), generation: generation)
  }
}
