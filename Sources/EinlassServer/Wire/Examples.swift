internal import EinlassJSON

/// An example of each method and notification as OpenRPC's example pairing, by its name.
var examples: [String: JSONValue] {
  var examples: [String: JSONObject] = [:]
  var name = ""
  for line in conversation.split(separator: "\n") {
    let value = try? JSONReader.read(Array(line.dropFirst(3).utf8))
    switch line.prefix(3) {
    case "-> ":
      let params = value?.object?.members ?? []
      examples[name] = [
        "name": .string(name),
        "params": .array(params.map { ["name": .string($0.name), "value": $0.value] }),
      ]
    case "<- ": examples[name]?["result"] = ["name": "result", "value": value ?? .null]
    default: name = String(line)
    }
  }
  return examples.mapValues(JSONValue.object)
}

/// A name, its params and its result, one after the other.
private let conversation = #"""
  initialize
  -> {"client":{"name":"editor","title":"Editor"},"capabilities":{"prompts":["grantAccess","selectAccount","openURL"]}}
  <- {"protocolVersion":1,"server":{"name":"einlass","version":"0.1.0"},"capabilities":{"methods":["shutdown","accounts.list"],"notifications":["prompt.opened"],"prompts":["grantAccess","selectAccount"],"changes":true,"network":false},"understood":{"prompts":["grantAccess","selectAccount","openURL"],"changes":true,"network":false,"users":false},"limits":{"inboundLineBytes":1048576,"outboundLineBytes":61440,"nesting":64,"idBytes":256,"batchEntries":64,"queuedRequests":1024,"runningFlows":64},"store":{"protection":"keyfile","revision":7}}
  shutdown
  -> {}
  <- {}
  exit
  -> {}
  $/cancelRequest
  -> {"id":1}
  rpc.discover
  -> {}
  <- {"openrpc":"1.3.2"}
  providers.list
  -> {"limit":1}
  <- {"providers":[{"id":"example","name":"Example","flowKinds":["authorizationCode"],"configured":true,"oneAccount":false,"retired":false,"can":{"reverseAuth":false,"refresh":true,"email":true,"revoke":true,"verify":true},"setup":{"documentation":"https://login.example.com/docs","needs":["clientId"],"redirect":"http://127.0.0.1:27465/callback"}}],"nextCursor":"example"}
  providers.add
  -> {"issuer":"https://login.example.com","id":"example"}
  <- {"provider":"example","created":true}
  providers.remove
  -> {"provider":"example"}
  <- {"registration":false}
  providers.configure
  -> {"provider":"example","clientId":"0123-editor"}
  <- {"configured":true,"revision":8}
  accounts.list
  -> {"provider":"example"}
  <- {"revision":7,"accounts":[{"account":"a_ada","provider":"example","username":"ada","displayName":"Ada Lovelace","health":"ok","signedIn":true,"preferred":false,"addedAt":1790000000}]}
  accounts.add
  -> {"provider":"example","username":"ada","credential":{"type":"oauth2","token":"a-token","clientId":"0123-editor"}}
  <- {"account":"a_ada","created":true,"revision":8}
  accounts.signIn
  -> {"provider":"example"}
  <- {"flow":"f_1","account":"a_ada","created":true,"emailVerified":false}
  accounts.update
  -> {"account":"a_ada","displayName":"Countess"}
  <- {"revision":9}
  accounts.setPreferred
  -> {"provider":"example","account":"a_ada"}
  <- {"revision":9}
  accounts.explain
  -> {"provider":"example"}
  <- {"rule":"person","prompts":["selectAccount"]}
  accounts.renew
  -> {"account":"a_ada"}
  <- {"result":"renewed"}
  accounts.signOut
  -> {"account":"a_ada"}
  <- {"revoked":["application 0123-editor"],"notRevoked":[],"revision":9}
  accounts.remove
  -> {"account":"a_ada"}
  <- {"revoked":["application 0123-editor"],"notRevoked":[],"revision":9}
  accounts.export
  -> {"path":"/home/ada/accounts"}
  <- {"path":"/home/ada/accounts","accounts":1,"users":0,"bytes":1024}
  accounts.import
  -> {"path":"/home/ada/accounts"}
  <- {"added":1,"replaced":0,"alreadyThere":0,"refused":0,"accounts":[{"provider":"example","username":"ada","result":"added","account":"a_ada"}],"providers":[],"registrations":[],"users":0,"usersAlreadyThere":0,"usersRefused":0}
  accounts.checkServer
  -> {"account":"a_ada"}
  <- {"server":"https://pbx.example.com:8443","publicKey":"sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=","certificateEndsAt":1790000000,"expired":false,"accepted":true}
  avatars.get
  -> {"account":"a_ada"}
  <- {"path":"/home/ada/.local/share/einlass/store.avatars/a6f3.png","type":"image/png","fetchedAt":1790000000}
  access.list
  -> {}
  <- {"grants":[{"application":"editor","provider":"example","state":"granted","permissions":[],"changedAt":1790000000}]}
  access.set
  -> {"provider":"example","state":"granted","application":"backup"}
  <- {"revision":9}
  access.reset
  -> {"provider":"example"}
  <- {"revision":9}
  auth.perform
  -> {"provider":"example","selection":"whenMany"}
  <- {"flow":"f_1","account":"a_ada","credential":{"type":"oauth2","token":"a-token","tokenType":"Bearer","scopes":["openid"],"expiresAt":1790000000}}
  auth.list
  -> {}
  <- {"flows":[{"flow":"f_1","application":"editor","provider":"example","flowKind":"authorizationCode","stage":"awaitingPerson","startedAt":1790000000,"expiresAt":1790000300,"detached":false,"prompts":["p_1"]}]}
  auth.cancel
  -> {"flow":"f_1"}
  <- {}
  credentials.get
  -> {"account":"a_ada","minValiditySeconds":300}
  <- {"credential":{"type":"oauth2","token":"a-token","tokenType":"Bearer","scopes":["openid"],"expiresAt":1790000000}}
  credentials.reject
  -> {"account":"a_ada"}
  <- {}
  credentials.sign
  -> {"account":"a_ada","method":"GET","url":"https://api.example.com/me"}
  <- {"authorization":"Bearer a-token"}
  services.resolve
  -> {"address":"https://api.example.com"}
  <- {"provider":"example","scheme":"bearer","rule":"onlyAccount","account":"a_ada"}
  verify
  -> {"provider":"example","account":"a_ada"}
  <- {"valid":true,"identity":{"id":"1815"},"checks":[{"check":"active","ok":true}]}
  settings.get
  -> {"provider":"example"}
  <- {"provider":"example","settings":{"server":"pbx.example.com","useCookies":false,"acceptUntrustedCertificates":false,"username":"ada"}}
  users.signIn
  -> {"account":"a_ada"}
  <- {"user":{"user":"u_1","application":"editor","emailVerified":false,"identities":[{"provider":"example","subject":"1815"}],"createdAt":1790000000},"additionalUserInfo":{"providerId":"example","isNewUser":true}}
  users.link
  -> {"pendingCredential":"c_1"}
  <- {"user":{"user":"u_1","application":"editor","emailVerified":false,"identities":[{"provider":"example","subject":"1815"}],"createdAt":1790000000},"additionalUserInfo":{"providerId":"example","isNewUser":false}}
  users.reauthenticate
  -> {"password":"a-password"}
  <- {"user":{"user":"u_1","application":"editor","emailVerified":false,"identities":[{"provider":"password","subject":"ada@example.org"}],"createdAt":1790000000},"additionalUserInfo":{"providerId":"password","isNewUser":false}}
  users.create
  -> {"email":"ada@example.org","password":"a-password"}
  <- {"user":{"user":"u_1","application":"editor","email":"ada@example.org","emailVerified":false,"identities":[{"provider":"password","subject":"ada@example.org"}],"createdAt":1790000000},"additionalUserInfo":{"providerId":"password","isNewUser":true}}
  users.signInWithPassword
  -> {"email":"ada@example.org","password":"a-password"}
  <- {"user":{"user":"u_1","application":"editor","email":"ada@example.org","emailVerified":false,"identities":[{"provider":"password","subject":"ada@example.org"}],"createdAt":1790000000},"additionalUserInfo":{"providerId":"password","isNewUser":false}}
  users.update
  -> {"displayName":"Countess"}
  <- {"user":{"user":"u_1","application":"editor","displayName":"Countess","emailVerified":false,"identities":[{"provider":"example","subject":"1815"}],"createdAt":1790000000}}
  users.current
  -> {}
  <- {}
  users.list
  -> {}
  <- {"users":[]}
  users.providersForEmail
  -> {"email":"ada@example.org"}
  <- {"providers":["password"]}
  users.unlink
  -> {"provider":"example"}
  <- {"user":{"user":"u_1","application":"editor","emailVerified":false,"identities":[{"provider":"password","subject":"ada@example.org"}],"createdAt":1790000000}}
  users.signOut
  -> {}
  <- {}
  users.delete
  -> {}
  <- {}
  store.addKeySlot
  -> {"kind":"passphrase"}
  <- {"slots":["keyfile","passphrase"]}
  store.removeKeySlot
  -> {"kind":"keyfile"}
  <- {"slots":["passphrase"]}
  store.unlock
  -> {"seconds":28800}
  <- {"unlockedUntil":1790028800}
  store.lock
  -> {}
  <- {"wasUnlocked":true}
  audit.list
  -> {"limit":1}
  <- {"entries":[{"at":1790000000,"application":"editor","method":"access.set","provider":"example","subject":"backup","state":"granted","process":4711,"parent":"editor"}]}
  audit.prune
  -> {"before":1790000000}
  <- {"removed":12}
  prompt.answer
  -> {"prompt":"p_1","action":"accept","account":"a_ada"}
  <- {}
  prompt.list
  -> {}
  <- {"prompts":[{"kind":"deviceCode","prompt":"p_1","flows":["f_1"],"application":"editor","provider":"example","providerName":"Example","expiresAt":1790000300,"verificationUri":"https://login.example.com/device","host":"login.example.com","userCode":"WDJB-MJHT","show":{"title":"Enter this code at “login.example.com”, on any device.","text":["“Editor” asks for it."],"warning":"Enter only a code that “Editor” shows on a machine of yours.","page":{"url":"https://login.example.com/device","host":"login.example.com"},"code":"WDJB-MJHT","buttons":[{"action":"cancel","label":"Cancel"}]}}]}
  network.status
  -> {}
  <- {"online":true}
  store.status
  -> {}
  <- {"path":"/home/ada/.local/share/einlass/store.db","exists":true,"protection":"keyfile","slots":["keyfile"],"schema":1,"revision":7,"accounts":1,"databaseBytes":65536,"journalBytes":0,"readOnly":false,"keyUses":2,"memoryLocked":true,"next":[]}
  store.check
  -> {}
  <- {"sound":true,"accounts":1,"sealedValues":2,"countFindings":0,"findings":[]}
  store.backup
  -> {"path":"/home/ada/store.db"}
  <- {"path":"/home/ada/store.db","bytes":65536,"includesKey":false}
  store.move
  -> {"to":"postgresql://db.example.com/signin?einlass_store=team"}
  <- {"path":"postgresql://db.example.com/signin?einlass_store=team","former":"/home/ada/.local/share/einlass/store.db.moved","rows":12}
  store.rotateKey
  -> {}
  <- {"sealedValues":2,"slots":["keyfile"],"droppedSlots":[]}
  test.advanceClock
  -> {"seconds":60}
  <- {}
  prompt.opened
  -> {"kind":"openURL","prompt":"p_1","flows":["f_1"],"application":"editor","provider":"example","providerName":"Example","expiresAt":1790000300,"url":"https://login.example.com/authorize","host":"login.example.com","show":{"title":"Sign in at “login.example.com” in your browser.","text":["“Editor” asks for it."],"page":{"url":"https://login.example.com/authorize","host":"login.example.com"},"buttons":[{"action":"accept","label":"Continue","default":true},{"action":"cancel","label":"Cancel"}]}}
  prompt.closed
  -> {"prompt":"p_1","outcome":"satisfied"}
  auth.progress
  -> {"flow":"f_1","stage":"awaitingPerson"}
  auth.completed
  -> {"flow":"f_1","account":"a_ada"}
  accounts.changed
  -> {"revision":8,"changes":[{"account":"a_ada","change":"added"}]}
  access.changed
  -> {"revision":9,"application":"backup","provider":"example"}
  providers.changed
  -> {"changes":[{"provider":"example","change":"added"}]}
  users.changed
  -> {"revision":10,"changes":[{"user":"u_1","change":"signedIn"}]}
  credentials.refreshed
  -> {"account":"a_ada","tokenType":"Bearer","scopes":["openid"],"expiresAt":1790000000}
  credentials.refreshFailed
  -> {"account":"a_ada","error":{"code":1005,"message":"The Example account must be signed in to again.","data":{"reason":"reloginNeeded","retryable":false,"next":[{"label":"Sign in to the account again","method":"accounts.signIn","params":{"provider":"example","account":"a_ada"}}],"provider":"example","account":"a_ada"}}}
  network.changed
  -> {"online":false}
  store.progress
  -> {"request":1,"method":"store.backup","done":1,"total":2}
  """#
