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
    let wanted = scopes.isEmpty ? "nothing in particular" : scopes.joined(separator: ", ")
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
      <p>\(escaped(application)) wants to use your account: \(escaped(wanted)).</p>
      <form method="post">
      \(code ?? "")<p><label>You are <select id="user" name="user">\(options.joined())</select></label></p>
      <p><button id="allow" name="decision" value="allow">Allow</button>
      <button id="deny" name="decision" value="deny">Deny</button></p>
      </form>
      """)
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

  private static func page(_ title: String, _ body: String, status: Int = 200) -> Answer {
    let html = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><title>\(escaped(title))</title>
      <meta name="viewport" content="width=device-width"></head>
      <body><h1>\(escaped(title))</h1>
      \(body)
      </body></html>

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
