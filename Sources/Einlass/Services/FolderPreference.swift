internal import EinlassJSON

/// The preferred account for work in a folder and in all folders below it, from the configuration
/// file.
public struct FolderPreference: Sendable, Equatable {
  /// An absolute path without symbolic links and without a slash at its end.
  public var folder: String
  /// The provider's id, or one of its aliases.
  public var provider: String
  /// The account's user name or id.
  public var account: String

  public init(_ folder: String, provider: String, account: String) {
    self.folder = folder
    self.provider = provider
    self.account = account
  }

  /// Whether a path is the folder or is below it. Counts whole names: /home/ada is not above
  /// /home/adam.
  func covers(_ path: String) -> Bool {
    sameBytes(path, folder) || path.utf8.starts(with: (folder + "/").utf8) || folder == "/"
  }
}

extension [FolderPreference] {
  /// Returns the account of the provider for the longest folder above a path.
  func account(of provider: Provider, in folder: String?) -> String? {
    guard let folder else { return nil }
    let names = [provider.id] + provider.aliases
    return filter { one in
      names.contains { sameBytes($0, one.provider) } && one.covers(folder)
    }
    .max { $0.folder.utf8.count < $1.folder.utf8.count }?.account
  }
}
