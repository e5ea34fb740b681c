import EinlassJSON
import Foundation
import Testing

/// The setting `caFile` in the program, against servers with certificates.
@Suite struct TrustTests {
  @Test(arguments: [
    // A trusted server then gives an answer that is not HTTP.
    (listener: "good", namesAuthority: true, codes: [-1011] as [Int64]),
    (listener: "good", namesAuthority: false, codes: [-1202, -1203]),
    (listener: "unknownAuthority", namesAuthority: true, codes: [-1202, -1203]),
  ])
  func `A certificate authority in caFile is accepted, and an unknown one gets no request`(
    listener: String, namesAuthority: Bool, codes: [Int64]
  ) throws {
    let server = try HostileProvider()
    defer { server.program.terminate() }
    var configuration: JSONObject = [
      "applications": ["*": ["facebook": ["clientId": "1", "clientSecret": "secret"]]],
      "origins": [
        "https://graph.facebook.com": .string("https://localhost:\(server.port(listener))")
      ],
    ]
    if namesAuthority {
      configuration["caFile"] = .string("\(server.ready["folder"]?.string ?? "")/authority.pem")
    }
    let folder = try TemporaryFolder()
    let file = try folder.file("config.json", JSONValue.object(configuration).text)
    let front = try FrontEnd(["--store", "memory", "--config", file])
    defer { front.terminate() }
    let answer = try front.answer(
      "verify",
      ["provider": "facebook", "credential": ["type": "oauth2", "token": "canary-token"]])
    let error = try #require(answer["error"])
    #expect(error["code"]?.int64 == 1007)
    #expect(codes.contains(error["data"]?["networkCode"]?.int64 ?? 0))
    #expect((try server.requestBytes(at: listener) > 0) == (codes == [-1011]))
    #expect(!answer.text.contains("canary"))
    #expect(!front.logged.contains("canary"))
  }
}
