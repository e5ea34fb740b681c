import EinlassJSON

/// The page on which a person says yes or no. Its buttons are `#allow` and `#deny`, who it is `#user`, and on the page
/// for devices `#user_code`; they go to the address of the page.
struct ConsentPage {
  var provider: String
  /// The application that asks.
  var application: String
  var scopes: [String]
  /// Who may be at the browser; the first is chosen.
  var people: [Record]
  /// The code to be confirmed; empty where it has to be typed.
  var userCode: String?

  /// Status 200, HTML.
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

  /// A page that tells what went wrong with the request itself, status 400: it must not go back to who sent it.
  static func problem(_ sentence: String) -> Answer {
    page("This request is refused", "<p id=\"problem\">\(escaped(sentence))</p>", status: 400)
  }

  /// A page that only says something.
  static func message(_ title: String, _ sentence: String) -> Answer {
    page(title, "<p id=\"message\">\(escaped(sentence))</p>")
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
