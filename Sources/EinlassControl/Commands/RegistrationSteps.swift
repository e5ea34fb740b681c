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
}
