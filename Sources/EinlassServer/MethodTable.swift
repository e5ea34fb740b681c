internal import Einlass
internal import EinlassJSON
public import EinlassRPC

extension Server {
  /// All methods of this process. This list is the only routing.
  public var methods: [Method] {
    let methods = [
      initialize(self),
      discover(self),
      providersList(self).configured(self),
      providersAdd(self).configured(self),
      providersRemove(self),
      providersConfigure(self).closed.unlocking(self) { !$0[.removeRegistration] }.configured(self),
      accountsList(self),
      accountsAdd(self).closed.unlocking(self).configured(self),
      accountsSignIn(self).closed.configured(self),
      accountsUpdate(self),
      accountsSetPreferred(self).closed.configured(self),
      accountsExplain(self).configured(self),
      accountsRenew(self).closed.unlocking(self, after: registrationCheck()).configured(self),
      accountsSignOut(self).closed.unlocking(self) { $0[.revoke] }.configured(self),
      accountsRemove(self).closed.unlocking(self).configured(self),
      accountsExport(self).unlocking(self),
      accountsImport(self).unlocking(self).configured(self),
      accessList(self),
      accessSet(self).closed.configured(self),
      accessReset(self).closed.configured(self),
      authPerform(self).closed.configured(self),
      authList(self),
      authCancel(self),
      credentialsGet(self).closed.unlocking(self).configured(self),
      credentialsReject(self).closed.unlocking(self, after: registrationCheck()).configured(self),
      credentialsSign(self).closed.unlocking(self, after: registrationCheck { _ in [.clientID] })
        .configured(self),
      avatarsGet(self).configured(self),
      servicesResolve(self).closed.configured(self),
      verify(self).closed.unlocking(
        self, if: { $0[.verifiedAccount] != nil }, after: registrationCheck(\.checkNeeds)
      ).configured(self),
      settingsGet(self).unlocking(self),
      usersSignIn(self).closed.unlocking(self, if: { !$0.signsInAtProvider }).configured(self),
      usersLink(self).closed.unlocking(self, if: { !$0.signsInAtProvider }).configured(self),
      usersReauthenticate(self).closed.unlocking(self, if: { !$0.signsInAtProvider }).configured(
        self),
      usersCreate(self).unlocking(self).configured(self),
      usersSignInWithPassword(self).unlocking(self).configured(self),
      usersUpdate(self).closed.unlocking(self).configured(self),
      usersCurrent(self).configured(self),
      usersList(self).configured(self),
      usersProvidersForEmail(self).configured(self),
      usersUnlink(self).closed.unlocking(self).configured(self),
      usersSignOut(self).unlocking(self).configured(self),
      usersDelete(self).closed.unlocking(self).configured(self),
      storeAddKeySlot(self).unlocking(self).configured(self),
      storeRemoveKeySlot(self),
      storeUnlock(self),
      storeLock(self),
      auditList(self),
      auditPrune(self),
      promptAnswer(prompts),
      promptList(self),
      networkStatus(self),
      accountsCheckServer(self),
      storeStatus(self),
      storeCheck(self).unlocking(self),
      storeBackup(self),
      storeMove(self),
      storeRotateKey(self).unlocking(self),
    ]
    let testMethods = advanceClock.map {
      [testAdvanceClock($0), testWithoutLeases(isWithoutLeases)]
    }
    return (methods + (testMethods ?? [])).map { $0.preparing(with: added) }
  }
}

extension Method {
  /// Returns the same method, which refuses unknown parameters. It is for methods with a parameter
  /// that narrows the request or makes it safer: with a misspelt name it would be absent, and the
  /// request would do more than was meant.
  fileprivate var closed: Method {
    var method = self
    method.descriptor = descriptor.closed
    return method
  }

  /// Returns the same method, which ignores unknown parameters and takes a provider's alias too.
  /// Otherwise a parameter that a handler shares with another method would count although this one
  /// does not have it.
  fileprivate func preparing(with added: AddedProviders) -> Method {
    var method = self
    method.preparing = { [descriptor] params in
      var params = descriptor.described(params)
      guard let name = params["provider"]?.string, let id = added.catalog.id(of: name) else {
        return params
      }
      params["provider"] = .string(id)
      return params
    }
    return method
  }

  /// Returns the same method, refused while the configuration is invalid. Otherwise a request could
  /// reach a provider at an address that the configuration replaces, use other rules for users, or
  /// make a store with another key.
  fileprivate func configured(_ server: Server) -> Method {
    var method = self
    method.descriptor = descriptor.adding(["authenticatorUnconfigured"])
    guard let problem = server.configurationProblem else { return method }
    method.handler = .urgent { _, _ throws(RPCError) in throw RPCError(problem) }
    return method
  }
}
