internal import Einlass
internal import EinlassSystem

extension FailedSignIns {
  private static let limitBytes = 1 << 14

  /// Returns the failed sign-ins of a store on disk: a file `sign-ins/<name>` for each, beside the
  /// store. Its first line has time, id and reason, the rest is the message. Only the holder of the
  /// sign-in's lease writes it.
  static func beside(_ location: StoreLocation) -> FailedSignIns {
    let path = location.directory + "/sign-ins"
    return FailedSignIns(
      last: { name in
        (try? SafeDirectory.open(path)?.read(name, limitBytes: limitBytes)).flatMap(Failure.init)
      },
      record: { name, failure in
        try? SafeDirectory.create(path).replace(name, failure.bytes, temporaryName: name + ".new")
      })
  }
}

extension FailedSignIns.Failure {
  var bytes: [UInt8] { Array("\(at) \(id) \(reason.rawValue)\n\(message)".utf8) }

  /// Returns `nil` for a file that einlass did not write.
  init?(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    guard lines.count == 2 else { return nil }
    let words = String(decoding: lines[0], as: UTF8.self).split(separator: " ")
    guard words.count == 3, let at = Int64(words[0]),
      let reason = Problem.Reason(rawValue: String(words[2]))
    else { return nil }
    self.init(
      id: String(words[1]), at: at, reason: reason,
      message: String(decoding: lines[1], as: UTF8.self))
  }
}
