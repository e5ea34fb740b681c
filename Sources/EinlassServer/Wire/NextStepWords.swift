internal import Einlass

/// The words of the next steps that are no request.
extension Problem.Advice {
  /// The words.
  var label: String {
    switch self {
    case .tryAgain: "Try again"
    case .tryLater: "Try again later"
    case .report: "Report it"
    case .updateEinlass: "Update einlass"
    case .freeMemory: "Free some memory, then try again"
    case .raiseProcessLimit: "Raise the limit of processes, then try again"
    case .checkClock: "Set this machine's clock, then try again"
    case .unlockOnWeb: "Unlock the account on the provider's page, then try again"
    case .changeSettings:
      "Check the registration's client id and secret, and the application's settings at the provider"
    case .checkClientID:
      "Check the registration's client id, and the application's settings at the provider"
    case .checkClientKey:
      "Check the registration's private key, and the application's settings at the provider"
    case .checkClientCertificate:
      "Check the registration's certificate, and the application's settings at the provider"
    case .askOperator: "Check the address, and ask the server's operator about its metadata"
    case .checkRights: "Check that the account may use that service"
    case .signOutThere: "Sign out on the provider's page, then sign in again"
    case .enterShownPIN: "Sign in again, and enter the code that the page shows then"
    case .pasteAddress: "Sign in again, and paste the whole address of the last page"
    case .signInOrReport: "Sign in again, and report it if that happens again"
    case .signInAtProvider: "Sign in at the provider again"
    case .signInElsewhere: "Sign in at another provider"
    case .signInWithoutAccount: "Sign in without naming the account"
    case .signInForResource: "Sign in for a resource"
    case .useOtherFlow: "Sign in by another flow"
    case .nameAssertion:
      "Name an account in assertionFrom, or a file in assertionFile of the registration"
    case .replaceAssertion: "Replace the file with a new assertion"
    case .nameWithHTTPS: "Name the server with https"
    case .nameServer: "Name a server of your own"
    case .checkProxy: "Check the setting of the proxy"
    case .checkAddress: "Check the address, then try again"
    case .checkNetwork: "Check the name of the server and the network, then try again"
    case .trustAuthority:
      "If you trust that authority, set caFile to its certificate; SSL_CERT_FILE is not read"
    case .checkCertificate: "Check the certificate of the registration"
    case .addCertificate: "Add certificate and privateKey to the registration"
    case .installLibcurl: "Install libcurl 7.74 or later, on Debian the package libcurl4"
    case .freeDescriptors: "Close some files, or raise the limit on open files (ulimit -n)"
    case .checkCAFile: "Correct caFile in the configuration file"
    case .checkServerCAFile: "Correct that file, or sign in again with another one"
    case .nameProvidersFile: "Name the file that describes the provider with --providers"
    case .useOtherConfiguration: "Use the configuration of the account's sign-in"
    case .correctPrompter: "Correct `prompter` in the configuration file"
    case .correctFile: "Correct that file"
    case .publishMetadata:
      "Publish the metadata document there, or remove clientMetadata from the configuration"
    case .removeProviders: "Remove providers that are no longer needed"
    case .restoreProvidersFile:
      "Restore a copy of the file, or move it away and add the providers again"
    case .requestLess: "Request fewer or shorter values"
    case .linkFirst: "Pass a password with the address, or link a provider first"
    case .linkAnother: "Link another way to sign in first, or delete the user"
    case .restoreProvider: "Restore the provider, or unlink the identity and link it again"
    case .linkPasswordAgain: "Unlink the password, and link another one"
    case .linkIdentityAgain: "Unlink the identity and link it again, or delete the user"
    case .changeAddress: "Change the address, or delete the user"
    case .nameAnotherPlace: "Name another place, or move away what is there"
    case .nameFile: "Name a file in it"
    case .nameTarget: "Name the place that the link points to"
    case .namePrivatePlace: "Name a place that only you can access"
    case .closeToOthers: "If nobody else had access, take it away from others"
    case .runAsOwner: "Run einlass as the owner of the file, or name another place"
    case .removeLinks: "Remove the other names of the file, or name another place"
    case .finishInput: "Write the content to it, then close it"
    case .createFolder: "Create the folder, or name another place"
    case .nameExport: "Name a file that an export has written"
    case .exportAgain: "Copy the file again, or export again"
    case .enterExportPassphrase: "Enter the passphrase of the export"
    case .chooseLongerPassphrase: "Choose a longer passphrase, or allow a weak one"
    case .checkStorePath: "Check the path of the store"
    case .setHome: "Set HOME, or name the key with --key-file or --key-fd"
    case .setHomeOrStore: "Set HOME, or name the store with --store"
    case .setHomeAlone: "Set HOME"
    case .signInOrRemove: "Sign in to the account again, or remove it"
    case .removeOldStore: "Remove the file of that name"
    case .restoreStoreFile: "Put the file back, or move the journal away too"
    case .finishMove:
      "If both are there, remove the new store before any program uses it, and move again"
    case .restoreKey: "Restore the key file or the passphrase, then try again"
    case .passRightPassphrase: "Pass the right passphrase, or none"
    case .passSecret: "Start einlass with that option"
    case .configureAgain: "Store the registration again"
    case .restoreKeyFile:
      "Put the key file back, or name it with --key-file; to start afresh, move the store away"
    case .copyKeyFile:
      "Copy the key file from a machine that has it, or use a key slot that both can open"
    case .correctKeyCommand:
      "Run the program in a terminal, then correct keyCommand in the configuration file"
    case .nameKeyCommand:
      #"Name it in the configuration file, such as "keyCommand": ["/usr/bin/pass", "show", "einlass"]"#
    case .restoreOrOtherSlot: "Restore a backup, or open the store with another key slot"
    case .useOtherSlot: "Use another key slot"
    case .addSlotFirst: "Add another key slot first"
    case .startSecretService:
      "Start or unlock the Secret Service, or open the store with another key slot"
    case .installSecretTool: "Install the package libsecret-tools"
    case .unlockStore: "Unlock the store for a while"
    case .addFirst: "Sign in, or add an account, which makes the store"
    case .nameStore: "Name another store with --store"
    case .copyDatabase: "Copy the schema with the tools of PostgreSQL"
    case .installLibpq: "Install the package libpq5, of version 12 or later"
    case .createDatabase: "Create a database, or correct the address of the store"
    case .askForRights: "Ask the operator of the database for the rights"
    case .namePrimary: "Name the primary server in the address of the store"
    case .changeTables: "Let the owner of the tables run the statements of this command"
    case .dropSchema: "Drop that schema"
    case .correctAddress: "Correct the address of the store"
    case .hidePassword: "Put the password into ~/.pgpass or a service file, or use a certificate"
    case .verifyServer:
      "Use sslmode=verify-full with the certificate of the authority as sslrootcert"
    }
  }
}
