import Einlass
import EinlassAuthenticators

/// The example of the project's README.md: Tests/Documents compares the two.
func example(registration: ClientRegistration) async throws -> TwitterCredentials {
  let application = Application(
    "my-editor", registrations: ["twitter": registration], engine: try .systemAccounts())
  let credentials = try await TwitterAuthenticator(application).perform(
    grantAccess: { true }, chooseAccount: { usernames in usernames.first })
  return credentials
}
