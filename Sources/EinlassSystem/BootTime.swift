internal import CSystem

/// The clock that counts the seconds since the start of the machine, and the time in which the
/// machine was suspended too.
public enum BootTime {
  public static var seconds: Int64 { csystem_boot_seconds() }

  /// Lets the calling thread rest. For threads of their own that have nothing to wait on.
  public static func pause(milliseconds: Int32) { csystem_pause(milliseconds) }
}
