internal import EinlassJSON
public import EinlassRPC

extension Server {
  /// Every method of this binary: the only routing in the program.
  public var methods: [Method] {
    let methods = [
      initialize(self),
      discover(self),
      providersList(self).configured(self),
      accountsList(self),
      accountsAdd(self).configured(self),
      accountsSignIn(self).configured(self),
      accountsUpdate(self),
      accountsSetPreferred(self).configured(self),
      accountsExplain(self).configured(self),
      accountsRenew(self).configured(self),
      accountsSignOut(self),
      accountsRemove(self),
      accessList(self),
      accessSet(self).configured(self),
      accessReset(self).configured(self),
      authPerform(self).configured(self),
      authList(self),
      authCancel(self),
      credentialsGet(self).configured(self),
      credentialsReject(self).configured(self),
      credentialsSign(self).configured(self),
      verify(self).configured(self),
      storeAddKeySlot(self),
      storeRemoveKeySlot(self),
      auditList(self),
      auditPrune(self),
      promptAnswer(self),
      promptList(self),
      storeStatus(self),
      storeCheck(self),
      storeBackup(self),
      storeRotateKey(self),
    ]
    let testMethods = advanceClock.map {
      [testAdvanceClock($0), testWithoutLeases(isWithoutLeases)]
    }
    return methods + (testMethods ?? [])
  }
}

extension Method {
  /// The same method, refused while the configuration cannot be used: nothing may then reach a provider, because
  /// the file might have said that it lives elsewhere.
  fileprivate func configured(_ server: Server) -> Method {
    guard let problem = server.configurationProblem else { return self }
    return Method(descriptor, .urgent { _, _ throws(RPCError) in throw RPCError(problem) })
  }
}
