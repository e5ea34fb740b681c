internal import EinlassHelpers
internal import EinlassJSON

/// The instructions of a provider for the registration of an application: `setup` of
/// `providers.list`.
enum RegistrationSteps {
  /// Returns the instructions with their names, in the order in which a person needs them.
  static func members(of setup: JSONValue?) -> [(name: String, value: String?)] {
    let steps = (setup?["steps"]?.strings ?? []).enumerated().map { number, step in
      (name: "step \(number + 1)", value: Optional(step))
    }
    return [
      (name: "costs", value: setup?["costs"]?.plain),
      (name: "approval", value: setup?["approval"]?.plain),
      (name: "register at", value: (setup?["form"] ?? setup?["documentation"])?.plain),
    ] + steps + [
      (name: "redirect", value: setup?["redirect"]?.plain),
      (name: "ends", value: setup?["ends"]?.plain),
      (name: "notes", value: setup?["notes"]?.plain),
      (
        name: "read more", value: setup?["form"].flatMap { _ in setup?["documentation"]?.plain }
      ),
    ]
  }

  /// Shows the instructions with numbered steps, the form as the first one.
  ///
  /// - Parameter redirect: The redirect address of the command line, in place of the provider's.
  static func show(_ setup: JSONValue?, redirect: String? = nil, to person: Person) {
    for (name, text) in [("Costs", setup?["costs"]), ("Approval", setup?["approval"])] {
      if let text = text?.plain { person.show(clean("\(name): \(text)")) }
    }
    let form = (setup?["form"] ?? setup?["documentation"])?.plain
    let steps = (form.map { ["Open \($0)"] } ?? []) + (setup?["steps"]?.strings ?? [])
    for (number, step) in steps.enumerated() {
      for line in labelled("  \(number + 1). ", clean(step), person.columns) { person.show(line) }
    }
    for (name, text) in [
      ("Redirect", redirect ?? setup?["redirect"]?.plain), ("Ends", setup?["ends"]?.plain),
      ("Notes", setup?["notes"]?.plain),
    ] {
      guard let text else { continue }
      for line in labelled("  \(name): ", clean(text), person.columns) { person.show(line) }
    }
  }
}
