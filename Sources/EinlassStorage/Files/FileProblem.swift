package import Einlass
package import EinlassSystem
internal import Glibc

/// The only place that maps file errors to problems of the store.
enum FileProblem {
  /// Maps the errors of access to the database file, its lock and their directory.
  static func store<Result: ~Copyable>(
    _ body: () throws(FileError) -> Result
  ) throws(Problem) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      let message = "The account store's \(error.path) \(error.explanation)"
      guard let detail = detail(error.cause) else { throw Problem(.internal, message) }
      throw .store(
        detail, message, advice: Problem.Advice.of(error), command: error.command, path: error.path)
    }
  }

  /// Maps the errors of access to an accounts file named by the person.
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
            "exists already, and only an export is overwritten."
          )
        case .system(ENOENT): (.refused, error.explanation)
        default: (detail(error.cause) ?? .refused, error.explanation)
        }
      var problem = Problem.store(
        detail, "\(error.path) \(why)", advice: Problem.Advice.of(error), command: error.command,
        path: error.path)
      if case .system(EEXIST) = error.cause {
        problem.hint = .init("accounts.export", ["path": error.path], replaces: true)
      }
      throw problem
    }
  }

  /// Maps the errors of access to a key file or key descriptor.
  static func key<Result: ~Copyable>(
    _ body: () throws(FileError) -> Result
  ) throws(Problem) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      throw .store(
        .keyUnavailable, "The account store's key \(error.path) \(error.explanation)",
        advice: Problem.Advice.of(error), command: error.command, path: error.path)
    }
  }

  /// Returns `nil` for a cause unrelated to the store.
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

extension Problem.Advice {
  /// Returns the remedy for a file error; `nil` if the cause has none of its own.
  package static func of(_ error: FileError) -> Problem.Advice? {
    switch error.cause {
    case .system(EEXIST): .nameAnotherPlace
    case .system, .tooLong: nil
    case .symbolicLink: .nameTarget
    case .notADirectory, .notARegularFile: .nameAnotherPlace
    case .otherOwner: .runAsOwner
    case .openToOthers: error.command == nil ? .namePrivatePlace : .closeToOthers
    case .hardLinked: .removeLinks
    case .silent: .finishInput
    }
  }
}
