/// The page at the end of the redirect: plain, and without any text of the redirect's address. Only
/// the page that fetches a fragment has a script.
public struct RedirectPage: Sendable, Equatable {
  /// The outcome that the page reports.
  public enum Outcome: Sendable, Equatable {
    /// Signed in, with the person's name if it is known. `isGranted`: the application has access to
    /// the account because of the sign-in.
    case signedIn(person: String?, isGranted: Bool)
    /// The person has to answer one more question in the application.
    case questionLeft
    /// The person refused, or the provider in their name.
    case denied
    /// The sign-in failed; the sentence says what happened. The application has the next step.
    case failed(String)
    /// No sign-in waits any more.
    case unexpected
    /// The response belongs to none of the waiting sign-ins.
    case foreign
    /// The request is no response of a provider; the status is that of the answer.
    case refused(status: Int)
    /// The response is in the fragment; the page posts it back.
    case fragment
  }

  public var outcome: Outcome
  /// The provider's name, and the application's name for people; empty if unknown.
  public var provider: String
  public var application: String

  public init(_ outcome: Outcome, provider: String = "", application: String = "") {
    self.outcome = outcome
    self.provider = provider
    self.application = application
  }

  /// 400 for an unexpected response, and 200 for that of a sign-in.
  public var status: Int {
    switch outcome {
    case .unexpected, .foreign: 400
    case .refused(let status): status
    case .signedIn, .questionLeft, .denied, .failed, .fragment: 200
    }
  }

  /// The only style sheet that the page may use, because the header holds its digest.
  public static let style = """
    :root{color-scheme:light dark}\
    body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto 0;padding:0 1.5rem}\
    h1{font-size:1.5rem;font-weight:600}p{margin:.6rem 0}small{opacity:.7}
    """

  /// The only script that a page may have, because the header holds its digest; `nil` for none.
  ///
  /// A field may have the name of a member of the form, such as `submit`, so the fields are added
  /// last, and no member is used after them.
  public var script: String? {
    guard outcome == .fragment else { return nil }
    return """
      const form=document.createElement('form'),fields=document.createDocumentFragment();\
      form.method='POST';form.action=location.pathname;\
      for(const[name,value]of new URLSearchParams(location.hash.slice(1))){\
      const field=document.createElement('input');field.type='hidden';field.name=name;field.value=value;fields.append(field)}\
      history.replaceState(null,'',location.pathname);\
      if(fields.hasChildNodes()){document.body.append(form);form.append(fields);HTMLFormElement.prototype.submit.call(form)}
      """
  }

  /// HTML in UTF-8.
  public var html: String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>\(escaped(title))</title>
    <meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
    <style>\(Self.style)</style></head>
    <body><h1>\(escaped(title))</h1>
    \(sentences.map { "<p>\(escaped($0))</p>" }.joined(separator: "\n"))
    <p><small>einlass, on this computer</small></p>\(script.map { "<script>\($0)</script>" } ?? "")</body></html>
    """
  }

  private var title: String {
    switch outcome {
    case .signedIn: "Signed in"
    case .questionLeft: "One question is left"
    case .denied: "Not signed in"
    case .failed: "Sign-in failed"
    case .unexpected, .foreign, .refused: "Nothing to do here"
    case .fragment: "One moment"
    }
  }

  private var sentences: [String] {
    let goOn = application.isEmpty ? "your application" : application
    let close = "You can close this tab and go back to \(goOn)."
    switch outcome {
    case .signedIn(let person, let isGranted):
      let account = person.map { "\(provider) account \($0)" } ?? "\(provider) account"
      return [
        isGranted
          ? "\(goOn) may use your \(account) now, because you signed in for it."
          : "You are signed in to your \(account).", close,
      ]
    case .questionLeft:
      return ["\(provider) does not name the account. \(goOn) now asks you for it.", close]
    case .denied: return ["Access to your \(provider) account was denied to \(goOn).", close]
    case .failed(let sentence):
      return [sentence, "You can close this tab and see in \(goOn) how to go on."]
    case .unexpected:
      return ["No sign-in is waiting for this answer. Start again from your application."]
    case .foreign:
      return ["This answer does not belong to the sign-in that is waiting.", close]
    case .refused(let status): return [RefusedReturn.request(status: status).sentence, close]
    case .fragment:
      return [
        "The browser hands over the answer to the sign-in.",
        "If this page stays, there was no answer.", close,
      ]
    }
  }
}

private func escaped(_ text: String) -> String {
  cleaned(text).unicodeScalars.map { scalar in
    switch scalar {
    case "&": "&amp;"
    case "<": "&lt;"
    case ">": "&gt;"
    case "\"": "&quot;"
    case "'": "&#39;"
    default: String(scalar)
    }
  }.joined()
}
