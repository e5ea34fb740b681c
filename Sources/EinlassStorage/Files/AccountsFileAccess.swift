public import Einlass
internal import EinlassCrypto
internal import EinlassSystem

extension AccountsFiles {
  /// Access to files of this machine.
  public static var local: AccountsFiles {
    AccountsFiles(
      prepare: { path, replaces throws(Problem) in
        let place = try Place(path)
        _ = try FileProblem.accounts { () throws(FileError) in try prepared(place, replaces) }
      },
      write: { path, bytes, replaces throws(Problem) in
        let place = try Place(path)
        try FileProblem.accounts { () throws(FileError) in try write(bytes, to: place, replaces) }
      },
      read: { path throws(Problem) in
        _ = try Place(path)
        return try FileProblem.accounts { () throws(FileError) in
          try PersonalFile.read(path, others: .mayRead, limitBytes: AccountsFile.limitBytes)
        }
      })
  }

  private struct Place {
    let parent: String
    let name: String

    init(_ path: String) throws(Problem) {
      (parent, name) = SafeDirectory.split(path)
      guard path.utf8.first == UInt8(ascii: "/"), !["", ".", ".."].contains(name) else {
        throw Problem(
          .invalidParameter, "The path must be absolute and name a file.", path: "/path")
      }
    }
  }

  /// Returns the folder if the file may be written there.
  private static func prepared(
    _ place: Place, _ replaces: Bool
  ) throws(FileError) -> SafeDirectory {
    guard let directory = try SafeDirectory.open(place.parent, others: .mayRead) else {
      throw .missing(place.parent)
    }
    if try directory.inspect(place.name) != nil {
      guard replaces, try isAccountsFile(place) else {
        throw .taken(directory.path(of: place.name))
      }
    }
    return directory
  }

  /// Returns whether the file was written by `accounts.export`. No other file is replaced, above
  /// all not a store or its key.
  private static func isAccountsFile(_ place: Place) throws(FileError) -> Bool {
    let bytes = try PersonalFile.read(
      "\(place.parent)/\(place.name)", others: .mayRead, limitBytes: AccountsFile.limitBytes)
    return AccountsFile.isOne(bytes)
  }

  private static func write(
    _ bytes: [UInt8], to place: Place, _ replaces: Bool
  ) throws(FileError) {
    let directory = try prepared(place, replaces)
    let temporary = ".\(place.name).\(Hexadecimal.encode(SecureRandom.bytes(8)))"
    if replaces {
      try directory.replace(place.name, bytes, temporaryName: temporary)
    } else if try !directory.create(place.name, bytes, temporaryName: temporary) {
      throw .taken(directory.path(of: place.name))
    }
  }
}
