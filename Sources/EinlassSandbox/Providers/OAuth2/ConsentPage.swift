import EinlassJSON

/// The page for the person's decision. Its elements are the buttons `#allow` and `#deny`, the
/// selection `#user`, and on the page for devices `#user_code`. The form is sent to the page's own
/// address.
struct ConsentPage {
  var provider: String
  var application: String
  var scopes: [String]
  /// The users to choose from. The first one is preselected.
  var people: [Record]
  /// The code to confirm, empty if it is to be typed; `nil` on pages not for devices.
  var userCode: String?

  var answer: Answer {
    let wanted = scopes.map { "<li><code>\(escaped($0))</code></li>" }.joined()
    let code = userCode.map { code in
      """
      <p><label>The code on your device
      <input id="user_code" name="user_code" value="\(escaped(code))" required></label></p>

      """
    }
    let options = people.map { person in
      "<option value=\"\(escaped(person.id))\">\(escaped(person["name"] ?? person.id))</option>"
    }
    return Self.page(
      "Sign in to \(provider)",
      """
      <p>\(escaped(application)) wants to use your account\(wanted.isEmpty ? "." : ", with the scopes:")</p>
      \(wanted.isEmpty ? "" : "<ul id=\"scopes\">\(wanted)</ul>")
      <form method="post">
      \(code ?? "")<p><label>You are <select id="user" name="user">\(options.joined())</select></label></p>
      <p><button id="allow" name="decision" value="allow">Allow</button>
      <button id="deny" name="decision" value="deny">Deny</button></p>
      </form>
      """)
  }

  /// The form for a new application: name, callback, and whether it may use device codes.
  static var newApplication: Answer {
    page(
      "Register a new application",
      """
      <form method="post">
      <p><label>Application name <input id="name" name="name" required></label></p>
      <p><label>Authorization callback URL <input id="callback" name="callback"
      placeholder="http://127.0.0.1/callback" required></label></p>
      <p><label><input id="device" name="device" type="checkbox"> Enable Device Flow</label></p>
      <p><button id="register">Register application</button></p>
      </form>
      """)
  }

  /// The form for a token of the person's own.
  static func newToken(_ scopes: [String]) -> Answer {
    let boxes = scopes.map { scope in
      """
      <li><label><input type="checkbox" name="scope" value="\(escaped(scope))">
      <code>\(escaped(scope))</code></label></li>
      """
    }
    return page(
      "New personal access token",
      """
      <form method="post"><ul>\(boxes.joined())</ul>
      <p><button id="generate">Generate token</button></p></form>
      """)
  }

  /// Shows new secrets, each once, with the name of its element.
  static func made(
    _ title: String, _ values: [(label: String, id: String, value: String)]
  ) -> Answer {
    page(
      title,
      values.map { "<p>\($0.label): <code id=\"\($0.id)\">\(escaped($0.value))</code></p>" }
        .joined(separator: "\n"))
  }

  /// Returns a page with status 400 about an invalid request, because it must not be redirected.
  static func problem(_ sentence: String) -> Answer {
    page("This request is refused", "<p id=\"problem\">\(escaped(sentence))</p>", status: 400)
  }

  static func message(_ title: String, _ sentence: String) -> Answer {
    page(title, "<p id=\"message\">\(escaped(sentence))</p>")
  }

  /// Returns a page whose form brings an answer to the application (OAuth 2.0 Form Post Response
  /// Mode).
  static func post(_ parameters: [Parameter], to address: String) -> Answer {
    let fields = parameters.map { parameter in
      "<input type=\"hidden\" name=\"\(escaped(parameter.name))\" value=\"\(escaped(parameter.value))\">"
    }
    return page(
      "Back to the application",
      """
      <form id="answer" method="post" action="\(escaped(address))">\(fields.joined())
      <button>Continue</button></form>
      <script>document.getElementById("answer").submit()</script>
      """)
  }

  private static let style = """
    :root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:0;padding:15vh 1.5rem}\
    main{max-width:26rem;margin:auto}h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0 1rem}\
    .note{font-size:.875rem;opacity:.7;margin:0}button{font:inherit;padding:.5rem 1.25rem;margin-right:.5rem}\
    input:not([type]),select{font:inherit;padding:.375rem;width:100%;box-sizing:border-box}
    """

  private static func page(_ title: String, _ body: String, status: Int = 200) -> Answer {
    let html = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><title>\(escaped(title))</title>
      <meta name="viewport" content="width=device-width"><style>\(style)</style></head>
      <body><main><p class="note">Simulated by einlass-sandbox</p><h1>\(escaped(title))</h1>
      \(body)
      </main></body></html>

      """
    var answer = Answer.text(html, status: status, type: "text/html; charset=utf-8")
    answer.headers += [
      Parameter(name: "Cache-Control", value: "no-store"),
      Parameter(name: "X-Frame-Options", value: "DENY"),
    ]
    return answer
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  private func escaped(_ text: String) -> String { Self.escaped(text) }
}
