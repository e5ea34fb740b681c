internal import Glibc

/// The environment of this process. Unsuitable for secrets, because every child inherits it.
public enum Environment {
  /// Returns the variable's value, or `nil` if it is unset or empty.
  public static func value(_ name: String) -> String? {
    guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
    return unsafe String(cString: value)
  }

  /// Sets the variable. Only before the process has other threads.
  public static func set(_ name: String, _ value: String) {
    unsafe setenv(name, value, 1)
  }
}
