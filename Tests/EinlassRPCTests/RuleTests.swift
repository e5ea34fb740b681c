import EinlassJSON
import EinlassRPC
import Testing

@Suite("Rules over several parameters")
struct RuleTests {
  private static let descriptor = MethodDescriptor(
    "m", .immediate, "",
    params: [
      .optional("a", .identifier, ""), .optional("b", .identifier, ""),
      .optional("remove", .boolean, default: false, ""), .optional("kind", .oneOf(["x", "y"]), ""),
    ],
    rules: [
      .either("a", or: "b"),
      Rule(
        [
          .init(absent: ["kind"], values: [("remove", [false])]),
          .init("kinds", required: ["kind"], values: [("kind", ["x", "z"])]),
        ], path: "/kind", expected: "x", "Give x."),
    ])

  @Test(
    "Exactly one choice of each rule holds",
    arguments: [
      (#"{"a":"1"}"#, nil), (#"{"b":"1","remove":false}"#, nil), (#"{"a":"1","kind":"x"}"#, nil),
      (#"{}"#, "/a"), (#"{"a":"1","b":"2"}"#, "/a"), (#"{"a":"1","remove":true}"#, "/kind"),
      (#"{"a":"1","kind":"y"}"#, "/kind"), (#"{"a":"1","kind":"x","remove":true}"#, nil),
      (#"{"a":1,"b":"2"}"#, "/a"), (#"{"a":"1","unknown":1}"#, nil),
    ] as [(String, String?)])
  func validates(text: String, path: String?) throws {
    let params = try #require(try JSONReader.read(Array(text.utf8)).object)
    do throws(RPCError) {
      try Self.descriptor.validate(params)
      #expect(path == nil)
    } catch {
      #expect(error.reason == "invalidParams" && error.data["path"]?.string == path)
      #expect(error.data["expected"] != nil)
    }
  }

  @Test("Rules print as JSON Schema of the whole params")
  func prints() {
    #expect(
      Self.descriptor.openRPC["x-params"] == [
        "allOf": [
          ["oneOf": [["required": ["a"]], ["required": ["b"]]]],
          [
            "oneOf": [
              ["properties": ["kind": false, "remove": ["const": false]]],
              [
                "title": "kinds", "required": ["kind"],
                "properties": ["kind": ["enum": ["x", "z"]]],
              ],
            ]
          ],
        ]
      ])
    #expect(Self.descriptor.openRPC["params"]?.array?[2]["schema"]?["default"] == false)
  }
}
