public import EinlassSystem

/// The two descriptors of the protocol.
public struct StandardStreams: ~Copyable, Sendable {
  let input: Descriptor
  let output: Output

  /// Makes streams over any two descriptors, for tests and for connections within the process.
  public init(input: consuming Descriptor, output: consuming Descriptor) {
    self.input = input
    self.output = Output(output)
  }

  /// Moves the protocol to duplicates of standard input and output that child processes do not
  /// inherit. Descriptor 0 becomes the null device. Descriptor 1 becomes stderr, so that a stray
  /// print appears in the log. Call it once, before any other code runs.
  public static func claim() throws(SystemError) -> StandardStreams {
    let input = try Descriptor.duplicate(0)
    let output = try Descriptor.duplicate(1)
    try Descriptor.redirect(0, toNullDevice: true)
    try Descriptor.redirect(1, toNullDevice: false)
    return StandardStreams(input: input, output: output)
  }
}
