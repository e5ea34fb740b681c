internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

extension Server {
  /// Makes the `User` of the protocol. An identity names its account as long as that exists.
  func json(_ user: User, _ patience: AccountStore.Patience = .usual) throws(Problem) -> JSONValue {
    let identities = try store.read(patience) { reader throws(Problem) in
      try user.identities.map { identity throws(Problem) -> JSONValue in
        let account = try identity.account.flatMap { id throws(Problem) in try reader.account(id) }
        return .object(
          JSONObject(present: [
            "provider": .string(identity.place.provider),
            "subject": .string(identity.place.subject),
            "email": identity.email.map(JSONValue.string),
            "account": account.map { .string($0.id.rawValue) },
          ]))
      }
    }
    return .object(
      JSONObject(present: [
        "user": .string(user.id.rawValue), "application": .string(user.application),
        "displayName": user.displayName.map(JSONValue.string),
        "email": user.email.map(JSONValue.string), "emailVerified": .bool(user.isEmailVerified),
        "photo": user.photo.map(JSONValue.string), "identities": .array(identities),
        "createdAt": JSONValue(user.createdAt),
        "lastSignInAt": user.lastSignInAt.map { JSONValue($0) },
      ]))
  }

  /// Makes the result of a sign-in, a link or a new proof.
  func json(_ signedIn: SignedInUser) throws(Problem) -> JSONObject {
    [
      "user": try json(signedIn.user),
      "additionalUserInfo": .object(
        JSONObject(present: [
          "providerId": .string(signedIn.provider),
          "username": signedIn.username.map(JSONValue.string),
          "isNewUser": .bool(signedIn.isNew),
          "profile": signedIn.profile.map(JSONValue.object),
        ])),
    ]
  }
}

extension Schema {
  /// A person in a directory of users.
  static let user = Schema.object([
    .required("user", .identifier, "The user's id."),
    .required("application", .identifier, "The application that made the user."),
    .optional("displayName", .string(maxBytes: nil), "The name for people."),
    .optional("email", .string(maxBytes: nil), "The e-mail address."),
    .required(
      "emailVerified", .boolean, "Whether a provider of the catalogue has verified the address."),
    .optional("photo", .string(maxBytes: nil), "The address of a picture."),
    .required(
      "identities",
      .array(
        .object([
          .required("provider", .identifier, "The provider's id, or password."),
          .required("subject", .string(maxBytes: nil), "The provider's id of the person."),
          .optional("email", .string(maxBytes: nil), "The address at the provider."),
          .optional("account", .identifier, "The account in this store, while it exists."),
        ]), max: nil), "The ways to sign in as the user."),
    .required("createdAt", .unixTime, "The time of the first sign-in."),
    .optional("lastSignInAt", .unixTime, "The time of the last sign-in."),
  ])
}

extension [Field] {
  /// The members of the result of a sign-in, a link or a new proof.
  static let signedInUser: [Field] = [
    .required("user", .reference("User"), "The user."),
    .required(
      "additionalUserInfo",
      .object([
        .required("providerId", .identifier, "The provider of the sign-in, or password."),
        .optional("username", .string(maxBytes: nil), "The person's user name at the provider."),
        .required("isNewUser", .boolean, "Whether the user was made by this request."),
        .optional(
          "profile", .map(.any, hasAnyNames: true),
          "The provider's answer about the person, if it was asked now."),
      ]), "Further facts about the sign-in."),
  ]
}

extension TypedField where Value == User.ID? {
  /// The person's own change of a user, as `einlassctl` makes it.
  static let user = optional(
    "user",
    TypedSchema(.identifier, placeholder: User.ID(rawValue: "")) { $0.string.map(User.ID.init) },
    "A user other than the current one, for the person who manages all users; no sign-in is needed then."
  ).refusingNull
}
