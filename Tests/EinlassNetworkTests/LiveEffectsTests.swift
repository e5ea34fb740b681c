import Einlass
import EinlassNetwork
import Testing

@Suite struct LiveEffectsTests {
  @Test func `Nonces have 16 bytes and do not repeat, also when many tasks draw them`() async {
    let effects = LiveEffects.make()
    let nonces = await withTaskGroup(of: [[UInt8]].self) { group in
      for _ in 0..<8 { group.addTask { (0..<1000).map { _ in effects.nonce() } } }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(nonces.allSatisfy { $0.count == 16 })
    #expect(Set(nonces).count == 8000)
  }
}
