internal import Einlass
internal import EinlassSystem
internal import Glibc

/// The only place where file errors become problems of the store.
enum FileProblem {
  /// Runs what touches the database's file, its lock or their directory.
  static func store<Result: ~Copyable>(
    _ body: () throws(FileError) -> Result
  ) throws(Problem) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      let message = "The account store's \(error.path) \(error.explanation)"
      guard let detail = detail(error.cause) else { throw Problem(.internal, message) }
      throw .store(detail, message, path: error.path)
    }
  }

  /// Runs what touches a file of accounts that the person named.
  static func accounts<Result: ~Copyable>(
    _ body: () throws(FileError) -> Result
  ) throws(Problem) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      let (detail, why): (Problem.StoreDetail, String) =
        switch error.cause {
        case .system(EEXIST):
          (
            .refused,
            "exists already. Name another file. Only an export is overwritten: pass replace: true."
          )
        case .system(ENOENT): (.refused, error.explanation)
        default: (detail(error.cause) ?? .refused, error.explanation)
        }
      throw .store(detail, "\(error.path) \(why)", path: error.path)
    }
  }

  /// Runs what touches whatever opens the key.
  static func key<Result: ~Copyable>(
    _ body: () throws(FileError) -> Result
  ) throws(Problem) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      throw .store(
        .keyUnavailable, "The account store's key \(error.path) \(error.explanation)",
        path: error.path)
    }
  }

  /// `nil` when it says nothing about the store.
  private static func detail(_ cause: FileError.Cause) -> Problem.StoreDetail? {
    switch cause {
    case .symbolicLink, .otherOwner, .openToOthers, .hardLinked: .permissions
    case .notADirectory, .notARegularFile, .tooLong, .silent: .corrupt
    case .system(EROFS): .readOnly
    case .system(ENOSPC), .system(EDQUOT), .system(EFBIG): .full
    case .system(ENOLCK), .system(ENOSYS), .system(EOPNOTSUPP): .unsupportedFileSystem
    case .system(EIO): .corrupt
    case .system(EMFILE), .system(ENFILE): .tooManyOpenFiles
    case .system(ENOMEM): nil
    case .system: .permissions
    }
  }
}
