import Einlass
import EinlassNetwork
import EinlassStorage

/// The example of the project's README.md: Tests/Documents compares the two.
func example(registration: ClientRegistration, asker: Asker) async throws -> PerformResult {
  let engine = Einlass(
    catalog: try ProviderCatalog.builtIn(), store: MemoryAccountStore.make(),
    effects: LiveEffects.make())
  let result = try await engine.perform(
    PerformRequest(application: "my-editor", registration: registration, provider: "twitter"),
    asking: asker)
  return result
}
