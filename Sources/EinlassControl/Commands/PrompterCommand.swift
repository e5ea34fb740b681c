internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl prompter`: shows a prompt of einlass on the controlling terminal.
struct PrompterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prompter",
    abstract: "Show a prompt of einlass on the terminal of another program.",
    discussion: """
      einlass starts it when a program needs you and cannot ask, for example git in a script. Name \
      it in the configuration file (~/.config/einlass/config.json) by its absolute path:

        {"prompter": ["/usr/bin/einlassctl", "prompter"]}

      It uses the controlling terminal, but only while the program is in the foreground there.
      """)

  func run() throws {
    do throws(Failure) { try answer() } catch {
      complain(error.line(repeating: []))
      throw error
    }
  }

  private func answer() throws(Failure) {
    let einlass = try Conversation(toParent: ())
    guard let person = Person(einlass, isInForeground: true) else {
      throw .unusable("No terminal is in the foreground, so the prompt cannot be shown.")
    }
    let questions = Questions(person: person, opensBrowser: true)
    var isFirst = true
    einlass.onNotification = { method, prompt throws(Failure) in
      guard method == "prompt.opened" else { return }
      if isFirst {
        let programs = (prompt["startedBy"]?.array ?? []).compactMap(\.string).map(clean)
        person.show("einlass asks for \(programs.joined(separator: ", started by ")).")
        isFirst = false
      }
      guard let answer = try questions.answer(prompt) else { return }
      do throws(Failure) {
        _ = try einlass.request("prompt.answer", answer)
      } catch .refused {
        // The prompt has closed meanwhile.
      }
    }
    while true {
      switch einlass.next() {
      case .notification(let method, let params): try einlass.onNotification(method, params)
      case .answer, .typed: continue
      case .interrupted, .ended, .silent: return
      }
    }
  }
}
