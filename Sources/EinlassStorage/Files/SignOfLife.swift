internal import EinlassSystem

/// The sign of life of a process that holds the lease of a sign-in: its lock file changes each
/// second. A process that was stopped gives none, and holds the lease without an end.
enum SignOfLife {
  static let milliseconds: Int32 = 1_000
  /// The turns without a sign after which a holder is passed over.
  static let missedLimit = 8

  /// Changes the lock file on a thread until the lease ends. Without a thread the file stays without
  /// a sign, and this process is never passed over.
  static func start(on file: Lock<FileLock?>) {
    file.withLock { $0?.clearChanges() }
    try? WorkThread.start("einlass-alive") { [weak file] in
      while let file, sign(file) { BootTime.pause(milliseconds: milliseconds) }
    }
  }

  /// Returns whether the lease has not ended.
  private static func sign(_ file: Lock<FileLock?>) -> Bool {
    file.withLock { file in
      file?.announceChange()
      return file != nil
    }
  }
}

extension FileLock {
  /// Waits for the lease of a sign-in. A holder that has given signs of life, and gives none any
  /// more, is passed over: the file leaves its place, so the holder's lock excludes nobody.
  ///
  /// Turns of this process count in place of a time, because this process may have been stopped too,
  /// and a suspended machine stops both.
  mutating func acquirePassingOver(
    by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(FileError) -> Bool {
    var (sign, missed) = (changeCount, 0)
    while true {
      let turn = min(deadline, Deadline(milliseconds: Int(SignOfLife.milliseconds)))
      if try acquire(.exclusive, by: turn) { return true }
      guard deadline.millisecondsLeft > 0 else { return false }
      try reopenIfReplaced()
      let latest = changeCount
      missed = latest > 0 && latest == sign ? missed + 1 : 0
      sign = latest
      guard missed >= SignOfLife.missedLimit else { continue }
      // One waiter at a time, because the next one must find the new file.
      var passing = try FileLock("passing-over", in: directory)
      guard try passing.acquire(.exclusive, by: deadline), changeCount == sign else { continue }
      try removeFile()
      try reopenIfReplaced()
      missed = 0
    }
  }
}
