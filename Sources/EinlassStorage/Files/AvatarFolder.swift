internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

extension AvatarFiles {
  /// The file that processes lock while they write or remove pictures.
  private static let lockName = "lock"

  /// Returns the pictures of a store on disk: a file `store.avatars/<digest>.png` for each, beside
  /// `store.db`. The name is the digest of the web address, and the modification time that of the
  /// fetch.
  static func beside(_ location: StoreLocation) -> AvatarFiles {
    let path = location.directory + "/" + location.avatarsName
    return AvatarFiles(
      kept: { address throws(Problem) in
        try FileProblem.store { () throws(FileError) in
          guard let folder = try SafeDirectory.open(path) else { return nil }
          for format in AvatarFormat.allCases {
            let name = fileName(of: address, format)
            guard let status = try folder.inspect(name) else { continue }
            return KeptAvatar(
              path: folder.path(of: name), format: format, fetchedAt: status.modifiedAtSeconds)
          }
          return nil
        }
      },
      keep: { address, avatar, fetchedAt throws(Problem) in
        let name = fileName(of: address, avatar.format)
        let kept = try FileProblem.store { () throws(FileError) -> KeptAvatar? in
          let folder = try SafeDirectory.create(path)
          var lock = try FileLock(lockName, in: folder)
          guard try lock.acquire(.exclusive, by: AccountStore.Patience.usual.deadline) else {
            return nil
          }
          try folder.replace(
            name, avatar.bytes, temporaryName: name + ".new", modifiedAtSeconds: fetchedAt)
          for other in AvatarFormat.allCases where other != avatar.format {
            folder.remove(fileName(of: address, other))
          }
          return KeptAvatar(
            path: folder.path(of: name), format: avatar.format, fetchedAt: fetchedAt)
        }
        guard let kept else { throw .storeLocked(path: path + "/" + lockName) }
        return kept
      },
      keepOnly: { addresses in
        guard let folder = try? SafeDirectory.open(path),
          var lock = try? FileLock(lockName, in: folder),
          (try? lock.acquire(.exclusive, by: AccountStore.Patience.usual.deadline)) == true,
          let names = try? folder.names(), names.count > 1, let used = try? addresses()
        else { return }
        let usedNames = Set(
          used.flatMap { address in AvatarFormat.allCases.map { fileName(of: address, $0) } })
        for name in names where name != lockName && !usedNames.contains(name) {
          folder.remove(name)
        }
      })
  }

  private static func fileName(of address: String, _ format: AvatarFormat) -> String {
    "\(Hexadecimal.encode(Digest.sha256(Array(address.utf8)))).\(format.rawValue)"
  }
}
