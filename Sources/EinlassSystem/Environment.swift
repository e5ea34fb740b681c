internal import Glibc

/// What the spawner left in the environment. Never for secrets: every child inherits it.
public enum Environment {
  /// The variable's value; `nil` when it is unset or empty.
  public static func value(_ name: String) -> String? {
    guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
    return unsafe String(cString: value)
  }
}
