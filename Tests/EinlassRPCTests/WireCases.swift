import Testing

/// An input of one or more lines, with its answers in short (`brief`).
struct WireCase: Sendable, CustomTestStringConvertible {
  var name: String
  var input: [UInt8]
  var answers: [String]

  init(_ name: String, _ input: String, _ answers: String...) {
    (self.name, self.input, self.answers) = (name, Array(input.utf8), answers)
  }

  init(_ name: String, bytes: [UInt8], answers: [String]) {
    (self.name, self.input, self.answers) = (name, bytes, answers)
  }

  init(_ name: String, bytes: [UInt8], _ answers: String...) {
    (self.name, self.input, self.answers) = (name, bytes, answers)
  }

  var testDescription: String { name }
}

private func request(id: String) -> String { #"{"jsonrpc":"2.0","id":\#(id),"method":"echo"}"# }

private func request(params: String) -> String {
  #"{"jsonrpc":"2.0","id":1,"method":"echo","params":\#(params)}"#
}

/// Returns a request that subtracts zero from this number.
private func subtraction(of minuend: String) -> String {
  #"{"jsonrpc":"2.0","id":1,"method":"subtract","params":{"minuend":\#(minuend),"subtrahend":0}}"#
}

private let subtraction = #""method":"subtract","params":{"minuend":3,"subtrahend":1}"#

/// Returns the message with its header.
func withHeader(_ message: String) -> String {
  "Content-Length: \(message.utf8.count)\r\n\r\n\(message)"
}

let headerCases =
  [
    WireCase("A message follows its header", withHeader(request(id: "1")), "1 ok {}"),
    WireCase(
      "A message may have line ends",
      withHeader("{\n \"jsonrpc\": \"2.0\",\r\n\"id\": 1, \"method\": \"echo\"\n}\n"), "1 ok {}"),
    WireCase(
      "Names ignore case, values may have spaces around them, and other names are ignored",
      "CONTENT-length:\t\(request(id: "1").utf8.count) \r\nX-Other: a\r\n\r\n\(request(id: "1"))",
      "1 ok {}"),
    WireCase(
      "The charset utf-8 is accepted in both spellings",
      ["utf-8", "utf8", "\"UTF-8\""].map { charset in
        "Content-Type: application/vscode-jsonrpc; charset=\(charset)\r\n"
          + withHeader(request(id: "1"))
      }.joined(), "1 ok {}", "1 ok {}", "1 ok {}"),
    WireCase(
      "Another charset is refused",
      "Content-Type: a/b; charset=utf-16\r\n" + withHeader(request(id: "1")),
      "null -32700 invalidHeader"),
    WireCase(
      "An empty message is no JSON", withHeader("") + withHeader(request(id: "1")),
      "null -32700 invalidJSON", "1 ok {}"),
    WireCase(
      "A byte order mark is refused", withHeader("\u{feff}" + request(id: "1")),
      "null -32700 invalidJSON"),
    WireCase("A batch is one message", withHeader("[\(request(id: "1"))]"), "[1 ok {}]"),
    WireCase(
      "A message of 1 MiB is read", withHeader(String(repeating: " ", count: 1 << 20)),
      "null -32700 invalidJSON"),
    WireCase(
      "A message of one byte more is skipped",
      withHeader(String(repeating: " ", count: 1 << 20 + 1)) + withHeader(request(id: "1")),
      "null -32700 lineTooLong", "1 ok {}"),
    WireCase(
      "A header of 4096 bytes is read",
      "Content-Length: 2\r\nX: \(String(repeating: "x", count: 4096 - 26))\r\n\r\n[]",
      "null -32600 emptyBatch"),
    WireCase(
      "A header of one byte more is refused",
      "Content-Length: 2\r\nX: \(String(repeating: "x", count: 4096 - 25))\r\n\r\n[]",
      "null -32700 invalidHeader"),
    WireCase(
      "A header without an end is refused",
      "Content-Length: \(String(repeating: "1", count: 5000))",
      "null -32700 invalidHeader"),
  ]
  + [
    "Content-Length: 2\n\n[]", "Content-Type: a/b\r\n\r\n[]", "Content-Length: two\r\n\r\n[]",
    "Content-Length: -2\r\n\r\n[]", "Content-Length: 2 2\r\n\r\n[]", "Content-Length:\r\n\r\n[]",
    "Content-Length: 99999999999999999999\r\n\r\n[]", "Content-Length: 2\r\nabc\r\n\r\n[]",
    "Content-Length: 2\r\n: 3\r\n\r\n[]", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n[]",
    withHeader("[]") + "\r\n" + withHeader("[]"),
  ].map { input in
    // The last one has a valid message first.
    let first = input.contains("[]\r\n")
    return WireCase(
      "The header of \(input.debugDescription) is refused", bytes: Array(input.utf8),
      answers: (first ? ["null -32600 emptyBatch"] : []) + ["null -32700 invalidHeader"])
  }

let framingCases = [
  WireCase("A line ends with LF", request(id: "1") + "\n", "1 ok {}"),
  WireCase("One CR is stripped", request(id: "1") + "\r\n", "1 ok {}"),
  WireCase("Blank lines are ignored", "\n \n\t\r\n" + request(id: "1") + "\n\n", "1 ok {}"),
  WireCase("A byte order mark is accepted at the start", "\u{feff}" + request(id: "1"), "1 ok {}"),
  WireCase(
    "A byte order mark is accepted at the start of a later line",
    request(id: "1") + "\n\u{feff}" + request(id: "2"), "1 ok {}", "2 ok {}"),
  WireCase(
    "A byte order mark within a line is refused", request(id: "1") + "\u{feff}",
    "null -32700 invalidJSON"),
  WireCase(
    "A second byte order mark is refused", "\u{feff}\u{feff}" + request(id: "1"),
    "null -32700 invalidJSON"),
  WireCase(
    "UTF-16 is refused", bytes: [0xFF, 0xFE, 0x7B, 0, 0x7D, 0], "null -32700 invalidUTF8"),
  WireCase(
    "UTF-16 without a mark is refused", bytes: [0x7B, 0, 0x7D, 0], "null -32700 invalidJSON"),
  WireCase("UTF-32 is refused", bytes: [0x7B, 0, 0, 0, 0x7D, 0, 0, 0], "null -32700 invalidJSON"),
  WireCase(
    "Invalid UTF-8 is refused", bytes: Array(#"{"a":""#.utf8) + [0xFF] + Array(#""}"#.utf8),
    "null -32700 invalidUTF8"),
  WireCase(
    "Overlong UTF-8 is refused", bytes: [0x22, 0xC0, 0xAF, 0x22], "null -32700 invalidUTF8"),
  WireCase(
    "Surrogate bytes are refused", bytes: [0x22, 0xED, 0xA0, 0x80, 0x22], "null -32700 invalidUTF8"),
  WireCase(
    "A lone surrogate escape is refused", request(params: #"{"a":"\uD800"}"#),
    "null -32700 invalidJSON"),
  WireCase("A raw NUL is refused", request(params: "{\"a\":\"\u{0}\"}"), "null -32700 invalidJSON"),
  WireCase(
    "A raw control is refused", request(params: "{\"a\":\"\t\"}"), "null -32700 invalidJSON"),
  WireCase(
    "An escaped NUL is free text", request(params: #"{"a":"\u0000"}"#), #"1 ok {"a":"\u0000"}"#),
  WireCase(
    "Line separators go out escaped", request(params: "{\"a\":\"\u{2028}\u{2029}\u{85}\u{7f}\"}"),
    #"1 ok {"a":"\u2028\u2029\u0085\u007f"}"#),
  WireCase(
    "An over-long line is drained",
    String(repeating: "[", count: 1 << 20 + 1) + "\n" + request(id: "1"),
    "null -32700 lineTooLong", "1 ok {}"),
  WireCase(
    "64 deep is read",
    request(
      params: "{\"a\":" + String(repeating: "[", count: 62) + String(repeating: "]", count: 62)
        + "}"),
    "1 ok {\"a\":" + String(repeating: "[", count: 62) + String(repeating: "]", count: 62) + "}"),
  WireCase(
    "65 deep is refused",
    request(
      params: "{\"a\":" + String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
        + "}"),
    "null -32700 tooDeep"),
  WireCase(
    "A hundred thousand brackets are refused", String(repeating: "[", count: 100_000),
    "null -32700 tooDeep"),
  WireCase(
    "Two values on a line are refused", request(id: "1") + request(id: "2"),
    "null -32700 invalidJSON"),
  WireCase("Trailing garbage is refused", request(id: "1") + "x", "null -32700 invalidJSON"),
  WireCase(
    "A trailing comma is refused", #"{"jsonrpc":"2.0","id":1,"method":"echo",}"#,
    "null -32700 invalidJSON"),
  WireCase("A comment is refused", request(id: "1") + "//", "null -32700 invalidJSON"),
  WireCase("NaN is refused", request(params: "{\"a\":NaN}"), "null -32700 invalidJSON"),
  WireCase("Single quotes are refused", "{'jsonrpc':'2.0'}", "null -32700 invalidJSON"),
  WireCase(
    "A duplicate key is refused and the id echoed",
    #"{"jsonrpc":"2.0","id":1,"method":"echo","method":"echo"}"#,
    "1 -32600 duplicateKey"),
  WireCase(
    "A duplicate key at depth is refused and the id echoed",
    request(params: #"{"a":[{"b":1,"b":1}]}"#), "1 -32600 duplicateKey"),
  WireCase(
    "A duplicate id is not echoed", #"{"jsonrpc":"2.0","id":1,"method":"echo","id":1}"#,
    "null -32600 duplicateKey"),
  WireCase(
    "An id spelled with an escape is a duplicate too",
    #"{"jsonrpc":"2.0","id":1,"method":"echo","i\u0064":1}"#,
    "null -32600 duplicateKey"),
  WireCase(
    "Keys compare as bytes",
    #"{"jsonrpc":"2.0","id":1,"Method":"echo","method":"echo","params":{"K":1,"\#u{212A}":2,"k":3}}"#,
    #"1 ok {"K":1,"\#u{212A}":2,"k":3}"#),
  WireCase(
    "A key with NUL is another key",
    #"{"jsonrpc":"2.0","id":1,"method":"echo","method\u0000":"x"}"#, "1 ok {}"),
  WireCase(
    "A key that looks alike is another key",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"param\u{17f}\":1,\"PARAMS\":1}", "1 ok {}"),
  WireCase(
    "Method names compare as bytes", #"{"jsonrpc":"2.0","id":1,"method":"Echo"}"#,
    "1 -32601 unknownMethod"),
  WireCase(
    "Numbers keep their lexeme",
    request(params: #"{"a":[1e400,1.0,1E2,-0,9007199254740993,0.10]}"#),
    #"1 ok {"a":[1e400,1.0,1E2,-0,9007199254740993,0.10]}"#),
  WireCase(
    "A typed integer may be any that every JSON reader keeps exactly",
    subtraction(of: "9007199254740991") + "\n" + subtraction(of: "-9007199254740991"),
    "1 ok 9007199254740991", "1 ok -9007199254740991"),
  WireCase(
    "A typed integer must be one that every JSON reader keeps exactly",
    subtraction(of: "9007199254740992") + "\n" + subtraction(of: "-9007199254740992"),
    "1 -32602 invalidParams", "1 -32602 invalidParams"),
  WireCase(
    "A typed integer has no fraction",
    #"{"jsonrpc":"2.0","id":1,"method":"subtract","params":{"minuend":1.0,"subtrahend":1}}"#,
    "1 -32602 invalidParams"),
  WireCase(
    "Garbage never ends the process", String(repeating: "x\n", count: 200) + request(id: "1"),
    answers: Array(repeating: "null -32700 invalidJSON", count: 200) + ["1 ok {}"]),
]

extension WireCase {
  init(_ name: String, _ input: String, answers: [String]) {
    (self.name, self.input, self.answers) = (name, Array(input.utf8), answers)
  }
}

let envelopeCases = [
  WireCase(
    "A request without version is refused", #"{"id":1,"method":"echo"}"#, "1 -32600 invalidRequest"),
  WireCase(
    "Another version is refused", #"{"jsonrpc":"1.0","id":1,"method":"echo"}"#,
    "1 -32600 invalidRequest"),
  WireCase(
    "A numeric version is refused", #"{"jsonrpc":2.0,"id":1,"method":"echo"}"#,
    "1 -32600 invalidRequest"),
  WireCase(
    "Top level scalars are refused", "1\n\"a\"\ntrue\nnull", "null -32600 invalidRequest",
    "null -32600 invalidRequest",
    "null -32600 invalidRequest", "null -32600 invalidRequest"),
  WireCase("A missing method is refused", #"{"jsonrpc":"2.0","id":1}"#, "1 -32600 invalidRequest"),
  WireCase(
    "A missing method is refused without id", #"{"jsonrpc":"2.0"}"#, "null -32600 invalidRequest"),
  WireCase(
    "A method that is no string is refused",
    #"{"jsonrpc":"2.0","id":1,"method":1}"# + "\n" + #"{"jsonrpc":"2.0","id":2,"method":null}"#,
    "1 -32600 invalidRequest", "2 -32600 invalidRequest"),
  WireCase("A string id is echoed", request(id: #""a b""#), #""a b" ok {}"#),
  WireCase(
    "An id of 256 bytes is echoed", request(id: "\"" + String(repeating: "x", count: 256) + "\""),
    "\"" + String(repeating: "x", count: 256) + "\" ok {}"),
  WireCase(
    "An id of 257 bytes is refused", request(id: "\"" + String(repeating: "x", count: 257) + "\""),
    "null -32600 invalidId"),
  WireCase(
    "What counts of an id is bytes, and those that it means",
    request(id: "\"" + String(repeating: "ä", count: 129) + "\"") + "\n"
      + request(id: "\"" + String(repeating: #"\u0061"#, count: 256) + "\"") + "\n"
      + request(id: "\"" + String(repeating: #"\u0061"#, count: 257) + "\""),
    "null -32600 invalidId", "\"" + String(repeating: "a", count: 256) + "\" ok {}",
    "null -32600 invalidId"),
  WireCase("An empty id is refused", request(id: "\"\""), "null -32600 invalidId"),
  WireCase(
    "Integer ids keep their lexeme",
    request(id: "12345678901234567890") + "\n" + request(id: "-0") + "\n" + request(id: "-1"),
    "12345678901234567890 ok {}", "-0 ok {}", "-1 ok {}"),
  WireCase(
    "Integers beyond what a double holds are ids",
    request(id: "9007199254740993") + "\n"
      + request(id: String(repeating: "9", count: 256)),
    "9007199254740993 ok {}", String(repeating: "9", count: 256) + " ok {}"),
  WireCase("1e999 is no id", request(id: "1e999"), "null -32600 invalidId"),
  WireCase(
    "An integer of 257 digits is no id", request(id: String(repeating: "9", count: 257)),
    "null -32600 invalidId"),
  WireCase(
    "Names that mean something elsewhere are names",
    request(params: #"{"__proto__":{"a":1},"constructor":2,"toString":null,"":0}"#),
    #"1 ok {"__proto__":{"a":1},"constructor":2,"toString":null,"":0}"#),
  WireCase(
    "Names that differ in their bytes alone are two",
    request(params: "{\"\u{e4}\":1,\"a\u{308}\":2}"), "1 ok {\"\u{e4}\":1,\"a\u{308}\":2}"),
  WireCase(
    "A name spelled twice with escapes is a duplicate",
    request(params: #"{"\u0061":1,"a":2}"#), "1 -32600 duplicateKey"),
  WireCase("A fraction is no id", request(id: "1.5"), "null -32600 invalidId"),
  WireCase("A fraction of zeros is an integer", request(id: "1.00"), "1.00 ok {}"),
  WireCase("A fraction with an exponent is no id", request(id: "1.0e1"), "null -32600 invalidId"),
  WireCase(
    "An integer with a fraction of zeros has at most 256 bytes",
    request(id: String(repeating: "9", count: 254) + ".0") + "\n"
      + request(id: String(repeating: "9", count: 255) + ".0"),
    String(repeating: "9", count: 254) + ".0 ok {}", "null -32600 invalidId"),
  WireCase("An exponent is no id", request(id: "1e2"), "null -32600 invalidId"),
  WireCase("True is no id", request(id: "true"), "null -32600 invalidId"),
  WireCase("An array is no id", request(id: "[1]"), "null -32600 invalidId"),
  WireCase("An object is no id", request(id: "{}"), "null -32600 invalidId"),
  WireCase("Null is no id", request(id: "null"), "null -32600 invalidId"),
  WireCase(
    "A string and an integer are different ids", request(id: "\"1\"") + "\n" + request(id: "1"),
    "\"1\" ok {}", "1 ok {}"),
  WireCase("Null parameters are none", request(params: "null"), "1 ok {}"),
  WireCase("An empty array of parameters is none", request(params: "[]"), "1 ok {}"),
  WireCase(
    "Positional parameters are refused", request(params: "[1]"), "1 -32602 positionalParams"),
  WireCase(
    "Scalar parameters are refused", request(params: "1") + "\n" + request(params: "\"x\""),
    "1 -32600 invalidRequest", "1 -32600 invalidRequest"),
  WireCase(
    "Unknown members are ignored",
    #"{"jsonrpc":"2.0","id":1,"method":"echo","x":1,"params":{"y":1}}"#, #"1 ok {"y":1}"#),
  WireCase(
    "Unknown parameters are ignored",
    #"{"jsonrpc":"2.0","id":1,"method":"subtract","params":{"minuend":3,"subtrahend":1,"z":0}}"#,
    "1 ok 2"),
  WireCase(
    "Method with result is refused", #"{"jsonrpc":"2.0","id":1,\#(subtraction),"result":1}"#,
    "1 -32600 invalidRequest"),
  WireCase(
    "Method with error is refused", #"{"jsonrpc":"2.0","id":1,\#(subtraction),"error":null}"#,
    "1 -32600 invalidRequest"),
  WireCase(
    "Responses are dropped",
    #"{"jsonrpc":"2.0","id":1,"result":1}"# + "\n" + #"{"id":1,"error":{"code":1,"message":""}}"#
      + "\n" + #"{"jsonrpc":"2.0","id":null,"result":{"a":1,"a":2}}"#),
  WireCase(
    "An unknown method is refused", #"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
    "1 -32601 unknownMethod"),
  WireCase(
    "The unknown method comes before its parameters",
    #"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, "1 -32601 unknownMethod"),
  WireCase("An unknown notification is ignored", #"{"jsonrpc":"2.0","method":"x"}"#),
  WireCase(
    "A notification with bad parameters is ignored",
    #"{"jsonrpc":"2.0","method":"subtract","params":[1]}"# + "\n"
      + #"{"jsonrpc":"2.0","method":"subtract"}"#),
  WireCase("A notification is never answered", #"{"jsonrpc":"2.0","method":"echo"}"#),
  WireCase(
    "A cancel that asks for an answer gets one",
    #"{"jsonrpc":"2.0","id":1,"method":"$/cancelRequest","params":{"id":7}}"#, "1 ok {}"),
  WireCase(
    "$/ requests are unknown, notifications ignored",
    #"{"jsonrpc":"2.0","id":1,"method":"$/x"}"# + "\n" + #"{"jsonrpc":"2.0","method":"$/x"}"#,
    "1 -32601 unknownMethod"),
  WireCase(
    "Rpc. methods are unknown", #"{"jsonrpc":"2.0","id":1,"method":"rpc.x"}"#,
    "1 -32601 unknownMethod"),
  WireCase("An empty batch is refused", "[]", "null -32600 emptyBatch"),
  WireCase(
    "64 entries are a batch", "[" + Array(repeating: "1", count: 64).joined(separator: ",") + "]",
    "[" + Array(repeating: "null -32600 invalidRequest", count: 64).joined(separator: ", ") + "]"),
  WireCase(
    "65 entries are not", "[" + Array(repeating: "1", count: 65).joined(separator: ",") + "]",
    "null -32600 batchTooLarge"),
  WireCase(
    "A batch of responses and notifications is not answered",
    #"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"echo"}]"#),
  WireCase("An array in a batch is no request", "[[]]", "[null -32600 invalidRequest]"),
  WireCase(
    "An interactive method is not batchable",
    #"[{"jsonrpc":"2.0","id":1,"method":"ask"},\#(request(id: "2"))]"#,
    "[1 -32600 notBatchable, 2 ok {}]"),
  WireCase(
    "Shutdown is not batchable", #"[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]"#,
    "[1 -32600 notBatchable]"),
  WireCase(
    "An unknown method in a batch is one before that",
    #"[{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}]"#, "[1 -32601 unknownMethod]"),
  WireCase(
    "An id twice in a batch is a duplicate", "[\(request(id: "1")),\(request(id: "1"))]",
    "[1 ok {}, null -32600 duplicateId]"),
  WireCase(
    "A duplicate key in a batch is its element's",
    #"[{"jsonrpc":"2.0","id":1,"method":"echo","x":1,"x":1},\#(request(id: "2"))]"#,
    "[1 -32600 duplicateKey, 2 ok {}]"),
]
