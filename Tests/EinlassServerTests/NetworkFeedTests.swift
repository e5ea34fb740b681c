import EinlassSystem
import Testing

@testable import EinlassServer

/// The announcements of a feed whose source is a script.
@Suite struct NetworkFeedTests {
  /// A network that a test changes.
  private final class Network: Sendable {
    struct State {
      var online: Bool?
      var refusesWatch = false
      var clearCount = 0
      var ring: (@Sendable () -> Void)?
      var announced: [Bool] = []
      var looks = 0
    }

    let state: Lock<State>

    init(_ online: Bool?, refusesWatch: Bool = false) {
      state = Lock(State(online: online, refusesWatch: refusesWatch))
    }

    var feed: NetworkFeed {
      NetworkFeed(
        NetworkSource(
          isOnline: { [state] in
            state.withLock {
              $0.looks += 1
              return $0.online
            }
          },
          watch: { [state] in
            state.withLock { network in
              guard !network.refusesWatch else { return nil }
              return NetworkSource.Watch(number: 7) { state.withLock { $0.clearCount += 1 } }
            }
          })
      ) { [state] online in state.withLock { $0.announced.append(online) } }
    }

    func watch(by feed: NetworkFeed) {
      feed.watch { number, react in
        #expect(number == 7)
        state.withLock { $0.ring = react }
      }
    }

    /// The network is in this state, and the descriptor becomes readable.
    func change(to online: Bool?) {
      let ring = state.withLock { state in
        state.online = online
        return state.ring
      }
      ring?()
    }

    var announced: [Bool] { state.withLock { $0.announced } }
  }

  @Test func `Each change of the state is announced once, and other changes are not`() {
    let network = Network(true)
    let feed = network.feed
    network.watch(by: feed)
    #expect(feed.isWatching && network.announced.isEmpty)
    for online in [true, true, false, false, true, true] { network.change(to: online) }
    #expect(network.announced == [false, true])
    #expect(network.state.withLock { $0.clearCount } == 6)
  }

  @Test func `An answer and the announcements never contradict each other`() {
    let network = Network(true)
    let feed = network.feed
    network.watch(by: feed)
    network.state.withLock { $0.online = false }
    // The request comes before the ring.
    #expect(feed.look() == false)
    #expect(network.announced == [false])
    network.change(to: true)
    #expect(network.announced == [false, true])
  }

  @Test func `A state that is not known is not announced, and the next known one is`() {
    let network = Network(nil)
    let feed = network.feed
    network.watch(by: feed)
    network.change(to: nil)
    #expect(network.announced == [] && feed.look() == nil)
    network.change(to: true)
    network.change(to: nil)
    #expect(feed.look() == nil)
    network.change(to: true)
    #expect(network.announced == [true, true])
  }

  @Test func `Without a watch a request is answered and nothing is announced`() {
    let network = Network(true)
    let feed = network.feed
    #expect(feed.look() == true && !feed.isWatching)
    network.change(to: false)
    #expect(feed.look() == false)
    #expect(network.announced == [])
  }

  @Test func `A system that refuses the watch is asked at requests alone`() {
    let network = Network(true, refusesWatch: true)
    let feed = network.feed
    network.watch(by: feed)
    #expect(!feed.isWatching && network.state.withLock { $0.looks } == 0)
    network.change(to: false)
    #expect(feed.look() == false && network.announced == [])
    let unknown = NetworkFeed(.unknown) { _ in Issue.record("nothing is announced") }
    #expect(unknown.look() == nil && !unknown.isWatching)
  }
}
