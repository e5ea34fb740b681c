internal import CSystem

/// The user keyring of the kernel: named bytes for all processes of this user, until a time (user-keyring(7)).
///
/// A session keyring would not do, because a program of another terminal has another one. The bytes are in memory that is
/// never swapped out, and a restart of the machine forgets them. Containers and sandboxes often refuse the system calls.
public enum KernelKeyring {
  /// Throws if this process may not use the keyring.
  public static func requireAllowed() throws(SystemError) { try check(csystem_key_allowed()) }

  /// Keeps the bytes under the name, in place of earlier ones. Throws if the kernel refuses it.
  public static func keep(
    _ bytes: [UInt8], as name: String, seconds: UInt32
  ) throws(SystemError) {
    try check(unsafe csystem_key_keep(name, bytes, bytes.count, seconds))
  }

  /// Returns the bytes of this name; `nil` if there are none, another number of them, or no keyring.
  public static func read(_ name: String, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return unsafe csystem_key_read(name, &bytes, count) == count ? bytes : nil
  }

  /// Forgets the bytes of this name. Returns whether there were any.
  @discardableResult public static func forget(_ name: String) -> Bool {
    unsafe csystem_key_forget(name) == 0
  }

  private static func check(_ number: Int32) throws(SystemError) {
    guard number == 0 else { throw SystemError(number: number) }
  }
}
