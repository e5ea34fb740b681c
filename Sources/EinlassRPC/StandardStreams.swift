public import EinlassSystem

/// The two descriptors that carry the protocol.
public struct StandardStreams: ~Copyable {
  /// Where messages come from.
  let input: Descriptor
  /// Where messages go.
  let output: Output

  /// A connection over any two descriptors, for tests and for calls within the process.
  public init(input: consuming Descriptor, output: consuming Descriptor) {
    self.input = input
    self.output = Output(output)
  }

  /// Takes standard input and output away from everything else: the protocol gets descriptors of its own that
  /// children do not inherit, 0 becomes the null device, and 1 becomes stderr, so that a stray print lands in
  /// the log. Call it once, before anything else runs.
  public static func take() throws(SystemError) -> StandardStreams {
    let input = try Descriptor.duplicate(0)
    let output = try Descriptor.duplicate(1)
    try Descriptor.redirect(0, toNullDevice: true)
    try Descriptor.redirect(1, toNullDevice: false)
    return StandardStreams(input: input, output: output)
  }
}
