import EinlassJSON
import EinlassRPC
import Testing

/// Method descriptors: the parameters that they accept, their JSON Schema, and the values that they
/// hide.
struct SchemaTests {
  static let descriptor = MethodDescriptor(
    "add", .immediate, "Adds one.",
    params: [
      .required("name", .identifier, "Its name."),
      .optional("note", .string(maxBytes: 8), "Free text."),
      .optional("count", .integer(1...10), "The number of entries."),
      .optional("big", .integer(), "Any exact integer."),
      .optional("isNew", .boolean, "Whether it is new."),
      .optional("kind", .oneOf(["a", "b"]), "Which."),
      .optional("tags", .array(.identifier, max: 2), "Words."),
      .optional("origins", .map(.string()), "By name."),
      .optional("where", .object([.required("x", .integer(), "Across.")]), "The place."),
      .optional("item", .reference("Item"), "The item."),
      .optional(
        "credential",
        .tagged(
          by: "type",
          [
            (
              "pair",
              [
                .required("key", .string(), "The key."),
                .required("secret", .string(), "Its secret.", isSecret: true),
              ]
            ),
            ("bearer", [.required("token", .string(), "The token.", isSecret: true)]),
          ]), "The client authentication method."),
    ],
    result: .object([
      .required("token", .string(), "It.", isSecret: true), .required("id", .identifier, "Its id."),
    ]))
  static let components: Components = { $0 == "Item" ? .array(.reference("Item")) : nil }

  @Test(
    "Parameters that match their descriptions are accepted, and unknown ones with them",
    arguments: [
      #"{"name":"x"}"#, #"{"name":"x","unknown":1}"#,
      #"{"name":"x","note":"12345678","count":10,"big":-9007199254740991}"#,
      #"{"name":"x","note":"\u0000","isNew":false,"kind":"b","tags":[],"origins":{"a":"b"},"where":{"x":1,"y":"z"}}"#,
      #"{"name":"x","credential":{"type":"bearer","token":"t"},"item":[[],[[]]]}"#,
      #"{"name":"a\u0308ä😀"}"#,
    ])
  func accepts(text: String) throws {
    let params = try #require(try JSONReader.read(Array(text.utf8)).object)
    try Self.descriptor.validate(params, components: Self.components)
  }

  @Test(
    "The first invalid parameter is named together with the expected form",
    arguments: [
      (
        #"{"name":1}"#, "/name", "a string of 1 to 256 bytes, not blank, without control characters"
      ),
      (
        #"{"name":null}"#, "/name",
        "a string of 1 to 256 bytes, not blank, without control characters"
      ),
      (
        #"{"name":" \u3000"}"#, "/name",
        "a string of 1 to 256 bytes, not blank, without control characters"
      ),
      (#"{"name":"x","note":"123456789"}"#, "/note", "a string of at most 8 bytes"),
      (#"{"name":"x","count":0}"#, "/count", "an integer from 1 to 10"),
      (#"{"name":"x","count":1.0}"#, "/count", "an integer from 1 to 10"),
      (
        #"{"name":"x","big":9007199254740992}"#, "/big",
        "an integer from -9007199254740991 to 9007199254740991"
      ),
      (
        #"{"name":"x","big":1e2}"#, "/big", "an integer from -9007199254740991 to 9007199254740991"
      ),
      (#"{"name":"x","isNew":0}"#, "/isNew", "true or false"),
      (#"{"name":"x","kind":"A"}"#, "/kind", "one of a, b"),
      (#"{"name":"x","tags":["a","b","c"]}"#, "/tags", "an array of at most 2"),
      (
        #"{"name":"x","tags":["a",1]}"#, "/tags/1",
        "a string of 1 to 256 bytes, not blank, without control characters"
      ),
      (#"{"name":"x","origins":[]}"#, "/origins", "an object"),
      (#"{"name":"x","origins":{"a/b":1}}"#, "/origins/a~1b", "a string"),
      (#"{"name":"x","item":[[],1]}"#, "/item/1", "an array"),
      (#"{"name":"x","credential":{"type":"pure"}}"#, "/credential/type", "one of pair, bearer"),
    ])
  func refuses(text: String, path: String, expected: String) throws {
    let params = try #require(try JSONReader.read(Array(text.utf8)).object)
    #expect(throws: RPCError.invalidParams(path: path, expected: expected)) {
      try Self.descriptor.validate(params, components: Self.components)
    }
  }

  @Test(
    "A null is an absent member at every level, except where it is refused",
    arguments: [
      (#"{"name":"x","note":null,"item":null}"#, #"{"name":"x"}"#),
      (#"{"name":null}"#, #"{"name":null}"#),
      (#"{"where":{"x":null,"y":null}}"#, #"{"where":{"x":null,"y":null}}"#),
      (#"{"origins":{"a":null,"b":"c"}}"#, #"{"origins":{"b":"c"}}"#),
      (#"{"tags":["a",null]}"#, #"{"tags":["a",null]}"#),
      (#"{"unknown":null,"count":1}"#, #"{"unknown":null,"count":1}"#),
      (#"{"pin":null,"any":{"a":null},"free":{"a":null}}"#, nil),
      (
        #"{"list":[{"type":"one","note":null}],"named":{"a":{"type":"one","note":null}}}"#,
        #"{"list":[{"type":"one"}],"named":{"a":{"type":"one"}}}"#
      ),
    ])
  func nulls(text: String, expected: String?) throws {
    let tagged = Schema.tagged(by: "type", [("one", [.optional("note", .string(), "A note.")])])
    let own = MethodDescriptor(
      "null", .immediate, "Takes nulls.",
      params: Self.descriptor.params + [
        .optional("pin", .string(), "A pin.").refusingNull, .optional("any", .any, "Anything."),
        .optional("free", .map(.any), "Anything by name."),
        .optional("list", .array(.reference("Tagged")), "A list."),
        .optional("named", .map(tagged), "By name."),
      ])
    let params = try #require(try JSONReader.read(Array(text.utf8)).object)
    let found = own.withoutNulls(params) { $0 == "Tagged" ? tagged : nil }
    #expect(JSONValue.object(found).text == expected ?? text)
  }

  @Test(
    "The first missing parameter is named together with the expected form",
    arguments: [
      (
        "{}",
        "The parameter /name is missing; it must be a string of 1 to 256 bytes, not blank, without control characters."
      ),
      (
        #"{"name":"x","where":{}}"#,
        "The parameter /where/x is missing; it must be an integer from -9007199254740991 to 9007199254740991."
      ),
      (
        #"{"name":"x","credential":{}}"#,
        "The parameter /credential/type is missing; it must be one of pair, bearer."
      ),
      (
        #"{"name":"x","credential":{"type":"pair","key":"k"}}"#,
        "The parameter /credential/secret is missing; it must be a string."
      ),
    ])
  func missing(text: String, sentence: String) throws {
    let params = try #require(try JSONReader.read(Array(text.utf8)).object)
    let error = #expect(throws: RPCError.self) {
      try Self.descriptor.validate(params, components: Self.components)
    }
    #expect(error?.message == sentence)
  }

  @Test(
    "An identifier has no invisible, control or line-breaking character",
    arguments: [
      "", "a\u{0}", "\r", "\n", "\u{1f}", "\u{7f}", "\u{85}", "\u{9f}", "\u{2028}", "\u{2029}",
      "\u{202e}", "\u{2066}",
      "\u{2069}", "\u{200e}", "\u{61c}", "neo\u{200b}vim", "\u{2060}", "\u{feff}",
      String(repeating: "x", count: 257),
    ])
  func identifiers(text: String) {
    #expect(throws: RPCError.self) { try Schema.identifier.validate(.string(text)) }
  }

  @Test(
    "A path has 1 to 4096 bytes and no NUL, where the system would cut it off",
    arguments: [
      ("", false), ("/", true), ("/a\u{0}", false), ("\u{0}", false), ("/a\nb", true),
      ("/" + String(repeating: "x", count: 4095), true),
      ("/" + String(repeating: "x", count: 4096), false),
      ("/" + String(repeating: "ä", count: 2048), false),
    ])
  func paths(text: String, isPath: Bool) {
    #expect(((try? Schema.path.validate(.string(text))) != nil) == isPath)
  }

  @Test("A schema prints as JSON Schema")
  func prints() {
    #expect(
      Schema.object([
        .required("a", .integer(0...1), "A."), .optional("s", .string(), "S.", isSecret: true),
      ]).jsonSchema == [
        "type": "object",
        "properties": [
          "a": ["type": "integer", "minimum": 0, "maximum": 1, "description": "A."],
          "s": ["type": "string", "description": "S.", "x-secret": true],
        ], "required": ["a"],
      ])
    #expect(Schema.reference("Item").jsonSchema == ["$ref": "#/components/schemas/Item"])
    let tagged = Self.descriptor.openRPC.at(pointer: "/params/10/schema/oneOf/1")
    #expect(tagged?["properties"]?["type"] == ["type": "string", "const": "bearer"])
    #expect(tagged?["required"] == ["type", "token"])
    #expect(Self.descriptor.openRPC["x-class"] == "immediate")
  }

  @Test(
    "Secrets and undescribed values are hidden",
    arguments: [
      (#"{"name":"x","count":1}"#, #"{"name":"x","count":1}"#),
      (#"{"nmae":"x"}"#, #"{"nmae":"[hidden]"}"#),
      (
        #"{"credential":{"type":"pair","key":"k","secret":"s","x":1}}"#,
        #"{"credential":{"type":"pair","key":"k","secret":"[hidden]","x":"[hidden]"}}"#
      ),
      (#"{"credential":{"type":"other","token":"t"}}"#, #"{"credential":"[hidden]"}"#),
      (#"{"credential":"t"}"#, #"{"credential":"[hidden]"}"#),
      (#"{"name":["t"],"count":"t"}"#, #"{"name":"[hidden]","count":"[hidden]"}"#),
      (
        #"{"tags":["a",["t"]],"origins":{"o":"p","q":1}}"#,
        #"{"tags":["a","[hidden]"],"origins":{"o":"p","q":"[hidden]"}}"#
      ),
    ])
  func redacts(text: String, hidden: String) throws {
    let params = try #require(try JSONReader.read(Array(text.utf8)).object)
    let redacted = Self.descriptor.redacted(params: params, components: Self.components)
    #expect(JSONValue.object(redacted).text == hidden)
  }

  @Test("Every standard error has a code, a message and its reason")
  func standardErrors() {
    for standard in RPCError.Standard.allCases {
      let error = RPCError(standard)
      #expect(error.data["reason"]?.string == standard.rawValue)
      #expect(error.data["retryable"]?.bool == (standard == .overloaded))
      #expect(error.message.hasSuffix(".") && (-32800 ... -32001).contains(error.code))
    }
  }
}
