internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// What is known of the front end: set once by `initialize`, else the defaults of protocol section 2.
final class Session: Sendable {
  /// The front end as it described itself.
  struct FrontEnd: Sendable {
    /// The application that access is granted to. Self-declared.
    var application = "anonymous"
    var title: String?
    var prompts: Set<Prompt.Kind> = []
    /// The spawner's own registrations, by provider; never written, never logged.
    var registrations: ByteKeyed<ClientRegistration> = [:]
    var isInitialized = false
  }

  private let state = Lock(FrontEnd())

  var frontEnd: FrontEnd { state.withLock { $0 } }

  /// Takes the description.
  func initialize(_ frontEnd: FrontEnd) {
    state.withLock {
      $0 = frontEnd
      $0.isInitialized = true
    }
  }
}
