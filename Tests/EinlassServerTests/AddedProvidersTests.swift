import Einlass
import EinlassJSON
import EinlassSystem
import Testing

@testable import EinlassServer

struct AddedProvidersTests {
  private static func descriptor(_ name: String) throws -> JSONValue {
    try JSONReader.read(
      Array(
        """
        {"id":"example","name":"\(name)","setup":{"documentation":"https://example.org/docs"},\
        "accounts":"many","registration":["clientId"],\
        "identity":{"request":{"method":"GET","url":"https://api.example.org/me","bearer":"{token}"},\
        "id":"/id","required":["id"]},"flows":[{"kind":"systemToken"}],"errors":{"shapes":[],"rules":[]}}
        """.utf8))
  }

  @Test(arguments: [false, true])
  func `A provider is withdrawn unless another process has changed its descriptor`(
    isChanged: Bool
  ) throws {
    let text = Lock<[UInt8]?>(nil)
    let overlay = ProviderOverlay(
      read: { text.withLock(\.self) },
      change: { edit throws(Problem) in
        let edited = try edit(text.withLock(\.self))
        text.withLock { $0 = edited }
      })
    let (one, other) = (
      AddedProviders(overlay, to: .none, origins: [:]),
      AddedProviders(overlay, to: .none, origins: [:])
    )
    let descriptor = try Self.descriptor("Example")
    #expect(try one.addIfMissing(descriptor))
    if isChanged { _ = try other.add(Self.descriptor("Other"), isNamed: true) }
    try one.withdraw(descriptor)
    #expect(one.catalog.holds("example") == isChanged)
    #expect(try one.descriptors().count == (isChanged ? 1 : 0))
  }
}
