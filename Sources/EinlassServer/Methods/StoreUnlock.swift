internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.unlock`: lets programs without a person open a store that needs a passphrase, for a while.
func storeUnlock(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.unlock", .network,
      "Lets each program of this user open a store with a passphrase, for a while.",
      description: storeUnlockDescription,
      params: fields(seconds),
      result: .object([
        .required("unlockedUntil", .unixTime, "The time at which the kernel forgets the secret.")
      ]),
      reasons: ["accountStoreFailure"] + Method.unlockingReasons),
    .task { params, call async throws(RPCError) in
      do throws(Problem) {
        let end = try await server.unlockStore(for: params[seconds], call)
        return ["unlockedUntil": JSONValue(end)]
      } catch { throw RPCError(error) }
    })
}

/// `store.lock`: takes `store.unlock` back.
func storeLock(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.lock", .network,
      "Lets the kernel forget the secret of store.unlock.",
      description: "A process that has opened the store keeps the key until its end.",
      result: .object([
        .required("wasUnlocked", .boolean, "Whether the kernel had the secret.")
      ]),
      reasons: ["accountStoreFailure"]),
    .task { _, _ async throws(RPCError) in
      do throws(Problem) {
        return ["wasUnlocked": .bool(try server.store.maintenance.lock())]
      } catch { throw RPCError(error) }
    })
}

private let storeUnlockDescription = """
  - The passphrase is that of `--passphrase-fd`, or the person is asked (`enterPassphrase`, `purpose: "keySlot"`), three
    times at most, also if the store is open or unlocked. Another `store.unlock` replaces the time.
  - The secret of the slot `passphrase` is in the user keyring of the kernel, never on a disk. A restart forgets it, and so
    do `store.lock`, `store.rotateKey`, and another or no slot `passphrase`. A process that has opened the store keeps the
    key until its end.
  - With `--key-file`, `--key-fd` or `--passphrase-fd`, a process does not look for it.
  - A store without a slot `passphrase`, or a kernel that keeps nothing, as in most containers, is 1009 `refused`.
  """

private let seconds = TypedField.required(
  "seconds", .integer(60...86_400), "How long the store stays unlocked.")

extension Server {
  /// Asks for the passphrase, up to three times, and unlocks the store. Returns the end.
  fileprivate func unlockStore(
    for seconds: Int64, _ call: Call
  ) async throws(Problem) -> UnixTime {
    let store = store.maintenance
    // Otherwise a person would enter a passphrase in vain.
    try store.unlock(nil, 0, 0)
    var wanted = Prompt.Passphrase(.keySlot, path: try store.status(.usual).path)
    for _ in 1...3 {
      do throws(Problem) {
        let passphrase = try await passphrase(wanted, for: call)
        return try await inTurn { () throws(Problem) in
          let end = effects.now() + seconds
          try store.unlock(passphrase, UInt32(seconds), end)
          return end
        }
      } catch {
        // A request beside this one had the same prompt, and closed it with its answer.
        if error == .satisfied { continue }
        let isWrong = error.detail == Problem.StoreDetail.keyUnavailable.rawValue
        guard isWrong, !error.neededPrompts.isEmpty else { throw error }
        wanted.isAgain = true
      }
    }
    throw .wrongPassphrase
  }
}
