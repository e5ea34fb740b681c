internal import Einlass
internal import EinlassSystem

extension ServerMemory {
  /// Returns a memory that lasts as long as the process, for all its requests.
  static func kept() -> ServerMemory {
    ServerMemory(
      keySets: .kept(), clockOffsets: .kept(), proofNonces: .kept(), spentAssertions: .kept(),
      assertionAudiences: .kept(), tokenChecks: .kept())
  }
}

extension Notebook {
  private static var roomCount: Int { 1024 }

  /// Returns a notebook in memory. A full one is emptied before the next key.
  static func kept() -> Notebook {
    let values = Lock<[String: Value]>([:])
    return Notebook(
      read: { key in values.withLock { $0[key] } },
      write: { key, value in
        values.withLock { values in
          if values.count >= roomCount, values[key] == nil { values.removeAll() }
          values[key] = value
        }
      })
  }
}
