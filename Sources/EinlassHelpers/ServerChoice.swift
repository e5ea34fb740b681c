/// The einlass that a command speaks to.
package struct ServerChoice {
  /// The path of the program, if the command line names one.
  package var path: String?
  /// Its arguments.
  package var arguments: [String] = []
  /// The descriptors that it inherits.
  package var descriptors: [Int32] = []
  /// Whether the command line asks for its log.
  package var showsLog = false
  /// Whether the command prints its result as JSON.
  package var isJSON = false
  /// The options that a suggested command repeats in order to use the same einlass, store and
  /// files.
  package var repeated: [String] = []

  package init() {}
}
