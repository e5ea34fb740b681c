internal import EinlassSystem

/// The findings of `einlassctl doctor` about the programs that `einlassctl setup` has set up.
extension Doctor {
  private static let setups: [any SetupCommand.Type] = [
    GitSetup.self, DockerSetup.self, KubectlSetup.self,
  ]

  func setups(_ console: Console) throws(Failure) -> [Finding] {
    // Another store may be without a configuration file, and then without a record.
    guard let record = try? SetupRecord(server) else { return [] }
    var findings: [Finding] = []
    for setup in Self.setups where record.programs.contains(setup.program) {
      findings.append(try finding(setup, record, console))
    }
    return findings
  }

  private func finding(
    _ setup: any SetupCommand.Type, _ record: SetupRecord, _ console: Console
  ) throws(Failure) -> Finding {
    let program = setup.program
    let again = NextStep("Set it up again:", "setup", program)
    let settings = record.settings(of: program).map(\.ours)
    for setting in settings {
      let values = (try? setup.values(of: setting.name)) ?? []
      guard values == setting.values else {
        return Finding(
          program, .notable, "\(setup.place): \(setting.name) no longer names einlass", again)
      }
      let helper = setup.helper(in: values)
      guard
        helper.hasPrefix("/") ? Program.isExecutable(helper) : OtherProgram.path(of: helper) != nil
      else {
        return Finding(
          program, .wrong, "\(program) does not find the program \(helper)",
          NextStep("Install it with clients/install, or add its folder to the PATH."))
      }
    }
    let granted = try console.granted(to: program)
    for provider in record.access(of: program) where !granted.contains(provider) {
      return Finding(
        program, .wrong, "\(program) has no access to \(provider) accounts",
        NextStep("Allow it:", "access", "set", program, provider, "granted"))
    }
    return Finding(
      program, .well,
      "takes its tokens from einlass: \(settings.map(\.name).joined(separator: ", "))")
  }
}
