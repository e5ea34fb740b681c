internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// The description of the front end: the defaults until `initialize` sets it once.
final class Session: Sendable {
  struct FrontEnd: Sendable {
    /// The application that access is granted to. The front end names it, and nothing verifies the
    /// name.
    var application = "anonymous"
    var title: String?
    var locale: LanguageTag?
    var prompts: Set<Prompt.Kind> = []
    var wantsChangeNotifications = true
    var wantsNetworkNotifications = false
    var wantsUserNotifications = false
    /// The registrations that the client passed, by provider. They are never stored and never
    /// logged.
    var registrations: ByteKeyed<ClientRegistration> = [:]
    var isInitialized = false
  }

  private let state: Lock<FrontEnd>

  /// - Parameter door: fixes the application, so that `initialize` does not describe the front end.
  init(_ door: Door? = nil) {
    var frontEnd = FrontEnd()
    if let door { frontEnd.application = door.application }
    state = Lock(frontEnd)
  }

  var frontEnd: FrontEnd { state.withLock { $0 } }

  /// The application alone. It is asked for often, and a copy of the description is expensive.
  var application: String { state.withLock { $0.application } }

  /// Asked before each request, so it copies nothing.
  var hearsOfChanges: Bool {
    state.withLock { $0.isInitialized && $0.wantsChangeNotifications }
  }

  /// Stores the description from `initialize`.
  func initialize(_ frontEnd: FrontEnd) {
    state.withLock {
      $0 = frontEnd
      $0.isInitialized = true
    }
  }
}
