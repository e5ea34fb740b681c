internal import EinlassHelpers
internal import EinlassJSON

/// The checks of the servers of the person's own. Each is connected to, and gets no request.
extension Doctor {
  func servers(_ console: Console) throws(Failure) -> [Finding] {
    guard console.greeting["configuration"] == nil else { return [] }
    let providers = try console.list("providers.list", "providers").filter {
      $0["flowKinds"]?.array?.contains("passwordSession") == true
    }.compactMap { $0["id"]?.string }
    var findings: [Finding] = []
    for account in (try? console.accounts()) ?? []
    where account.json["signedIn"]?.bool != false
      && providers.contains(where: { sameBytes($0, account.provider) })
    {
      do throws(Failure) {
        let check = try console.call("accounts.checkServer", ["account": .string(account.id)])
        findings.append(Self.finding(account, check))
      } catch .refused(let refusal) {
        findings.append(Finding("server of \(account.title)", refusal: refusal))
      }
    }
    return findings
  }

  private static func finding(_ account: Account, _ check: JSONObject) -> Finding {
    let subject = "server of \(account.title)"
    let server = check["server"]?.plain ?? ""
    if check["accepted"]?.bool == false {
      return Finding(
        subject, .wrong,
        "\(server) has a certificate that is not trusted, or another key than before",
        NextStep("Sign in again to see its key:", "sign-in", "--account", account.title))
    }
    guard check["expired"]?.bool == true, let end = check["certificateEndsAt"]?.int64 else {
      return Finding(subject, .well, "\(server) answers")
    }
    return Finding(
      subject, .notable,
      "the certificate of \(server) has expired on \(day(end)); its key is accepted",
      NextStep("Renew the certificate at the server."))
  }
}
