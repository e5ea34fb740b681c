extension Provider {
  /// The person's instructions to register an application at the provider: the word `setup`.
  ///
  ///     {"documentation": "https://example.com/docs", "form": "https://example.com/apps/new",
  ///      "steps": ["Type a name.", "Copy the client id."],
  ///      "redirect": "http://127.0.0.1/callback", "costs": "A paid plan is needed.",
  ///      "approval": "The provider decides within days.", "ends": "The secret ends after a year.",
  ///      "notes": "The e-mail address needs the scope email."}
  ///
  /// `form` is the page with the form, and `steps` are the actions there, in their order. `costs` and
  /// `approval` are conditions of the provider, and `ends` is the part that ends by itself later.
  public struct Setup: Sendable, Equatable {
    /// An https address.
    public var documentation: String
    /// An https address.
    public var form: String?
    public var steps: [String]
    public var redirect: String?
    public var costs: String?
    public var approval: String?
    public var ends: String?
    public var notes: String?
  }
}

extension Provider.Setup {
  private static let stepLimit = 16

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let reader = try reader.object(
      name,
      members: [
        "documentation", "form", "steps", "redirect", "costs", "approval", "ends", "notes",
      ])
    documentation = try reader.address("documentation").text
    form = try reader.optional("form", reader.address)?.text
    steps = try reader.optional("steps", reader.shownList) ?? []
    guard steps.count <= Self.stepLimit else {
      throw reader.fault("steps", "Expected at most \(Self.stepLimit) steps.")
    }
    redirect = try reader.optional("redirect", reader.shown)
    costs = try reader.optional("costs", reader.shown)
    approval = try reader.optional("approval", reader.shown)
    ends = try reader.optional("ends", reader.shown)
    notes = try reader.optional("notes", reader.shown)
  }
  /// Returns the same instructions with the form at another server.
  func relocated(_ move: (WebAddress) -> WebAddress) -> Provider.Setup {
    var moved = self
    moved.form = form.flatMap { try? WebAddress.parse($0) }.map { move($0).text }
    return moved
  }
}
