internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// The findings of `einlassctl doctor` about the programs that take their tokens from einlass.
extension Doctor {
  private static let setups: [any SetupCommand.Type] = [
    GitSetup.self, DockerSetup.self, KubectlSetup.self,
  ]

  func setups(_ console: Console) throws(Failure) -> [Finding] {
    // Another store may be without a configuration file, and then without a record.
    guard let record = try? SetupRecord(server) else { return [] }
    var findings: [Finding] = []
    for setup in Self.setups {
      let ours = record.changes(of: setup.program).map(\.ours)
      // A program that is not installed, or a file that cannot be read, names no helper.
      let names = ((try? setup.present()) ?? []).filter { name in
        !ours.contains { sameBytes($0.name, name) }
      }
      guard record.programs.contains(setup.program) || !names.isEmpty else { continue }
      let finding = try finding(setup, ours, names, record, console)
      findings.append(finding)
      // With an invalid configuration einlass lists no providers.
      guard finding.verdict == .well, let need = setup.needs,
        console.greeting["configuration"] == nil
      else { continue }
      let granted = try console.granted(to: setup.program)
      let places = setup.places(of: ours)
      findings += try need.lacking(for: setup.program, at: granted, places, server).map {
        Finding(setup.program, .notable, $0.sentence, $0.step)
      }
    }
    return findings
  }

  /// - Parameters:
  ///   - ours: The settings that `einlassctl setup` made.
  ///   - others: The names of those that the person made.
  private func finding(
    _ setup: any SetupCommand.Type, _ ours: [Setting], _ others: [String], _ record: SetupRecord,
    _ console: Console
  ) throws(Failure) -> Finding {
    let program = setup.program
    for setting in ours {
      guard ((try? setup.values(of: setting.name)) ?? []) == setting.values else {
        return Finding(
          program, .notable, "\(setup.place): \(setting.name) no longer names einlass",
          NextStep("Set it up again:", "setup", program))
      }
    }
    let names = ours.map(\.name) + others
    for name in names {
      guard let command = setup.deadCommand(in: (try? setup.values(of: name)) ?? []) else {
        continue
      }
      return Finding(
        program, .wrong, "\(program) cannot run einlass by this command: \(command)",
        NextStep("Install it with clients/install, then set it up again:", "setup", program))
    }
    for name in ours.map(\.name) {
      guard let other = (try? setup.otherReceiver(of: name)) ?? nil else { continue }
      return Finding(
        program, .wrong, "\(program) gives the tokens of \(name) also to \(other)",
        NextStep("Move its setting to the beginning of that file, or remove it."))
    }
    let granted = try console.granted(to: program)
    for provider in record.access(of: program) where !granted.contains(provider) {
      return Finding(
        program, .wrong, "\(program) has no access to \(provider) accounts",
        NextStep("Allow it:", "access", "set", program, provider, "granted"))
    }
    guard !granted.isEmpty else {
      let provider = try console.accounts().first?.provider ?? "PROVIDER"
      return Finding(
        program, .wrong, "\(program) has no access to accounts of any provider",
        NextStep("Allow it, for example:", "access", "set", program, provider, "granted"))
    }
    return Finding(
      program, .well, "takes its tokens from einlass: \(names.joined(separator: ", "))")
  }
}
