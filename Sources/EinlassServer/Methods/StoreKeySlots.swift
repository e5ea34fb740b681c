internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `store.addKeySlot`: adds a way to open the store's key.
func storeAddKeySlot(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.addKeySlot", .network,
      "Adds a way to open the key, in place of one of the same kind; the key stays the same.",
      description: storeAddKeySlotDescription,
      params: fields(newKind),
      result: .object([slots]), reasons: ["accountStoreFailure"]),
    .task { params, call async throws(RPCError) in
      let kind = params[newKind]
      do throws(Problem) {
        let passphrase =
          kind == "passphrase"
          ? try await server.passphrase(
            Prompt.Passphrase(.keySlot, path: nil, isNew: true), for: call) : nil
        let slots = try await server.inTurn { () throws(Problem) in
          try server.store.maintenance.addKeySlot(kind, passphrase)
        }
        return ["slots": JSONValue(slots)]
      } catch { throw RPCError(error) }
    })
}

/// `store.removeKeySlot`: removes a way to open the store's key.
func storeRemoveKeySlot(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "store.removeKeySlot", .network,
      "Removes a way to open the key, never the last one.",
      description: storeRemoveKeySlotDescription,
      params: fields(removedKind),
      result: .object([slots]), reasons: ["accountStoreFailure"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        return [
          "slots": JSONValue(
            try server.store.maintenance.removeKeySlot(params[removedKind]))
        ]
      } catch { throw RPCError(error) }
    })
}

private let newKind = TypedField.required(
  "kind", .oneOf(["keyfile", "passphrase", "secretservice", "command"]),
  "The kind of the new slot.")
private let removedKind = TypedField.required(
  "kind", .oneOf(["keyfile", "passphrase", "secretservice", "command", "fd"]),
  "The kind of the removed slot.")

private let slots = Field.required(
  "slots", .array(.string(maxBytes: nil), max: nil), "The key slots.")

private let storeAddKeySlotDescription = """
  - A passphrase comes on the descriptor of `--passphrase-fd`, one line, or the person is asked. It is stretched with
    scrypt.
  - The passphrase is tried if the option is given and no key file opens the store. A store that begins with a
    passphrase gets no key file.
  - `secretservice` keeps a secret in the keyring of the desktop by the program `secret-tool`, within three seconds or
    not at all. A locked or absent keyring is 1009 `keyUnavailable`, like any other slot out of reach. No second key is
    ever made.
  - `command` runs the program of `keyCommand` in the [configuration file](README.md#configuration-file), which prints the secret: 32
    bytes, raw or as base64 or hexadecimal text, within five seconds. A program that hangs, prints too much or nothing, or
    fails is 1009 `keyUnavailable` with the reason. Only the program itself is ended after the five seconds, so a script
    starts its last command with `exec`. A store that begins with `keyCommand` gets no key file. The store never names the
    program. [Recipes](../clients/KEYS.md).
  """

private let storeRemoveKeySlotDescription = """
  - A key file that opens nothing any more stays, because older copies of the store may need it.
  - A store that only `passphrase` or `fd` is left to open is shut to git and every other program without a person. Say so
    before the request.
  """
