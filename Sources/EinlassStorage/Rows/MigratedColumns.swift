extension Migrations {
  /// See `columns`.
  static let releasedColumns: [String: Set<String>] = [
    "meta": ["id", "store", "revision", "key_id", "encryptions", "needs"],
    "keyslot": ["id", "kind", "parameters", "salt", "wrapped_key"],
    "account": [
      "position", "id", "provider", "username", "display_name", "subject", "email", "avatar",
      "health", "added_at", "last_used_at", "reported", "email_verified",
    ],
    "credential": [
      "account", "client_id", "resource", "role", "kind", "bound_origins", "bound_client_id",
      "bound_flow_kind", "binding", "token_type", "scopes", "expires_at", "token", "token_secret",
      "refresh_token", "id_token", "client_secret", "proof_key", "generation", "refused",
      "id_token_former", "assertion_source", "bound_trust", "refresh_expires_at",
    ],
    "registration": [
      "provider", "flow", "client_id", "redirect", "authentication", "key_id", "bound_origins",
      "issued", "expires_at", "client_secret", "private_key", "properties",
    ],
    "access_grant": [
      "application", "provider", "state", "permissions", "audience", "changed_at", "includes",
      "accounts", "title",
    ],
    "preference": ["application", "provider", "account"],
    "change": ["number", "account", "kind", "application", "provider"],
    "login_refusal": ["server", "username", "count", "last_at", "digest"],
    "server_setting": [
      "application", "provider", "server", "port", "secure", "use_cookies",
      "accept_untrusted_certificates", "username", "digest",
    ],
    "user": [
      "position", "id", "directory", "application", "display_name", "email", "email_key",
      "email_verified", "photo", "created_at", "last_sign_in_at",
    ],
    "user_identity": [
      "directory", "provider", "subject", "user", "position", "email", "email_key", "account",
      "provider_digest",
    ],
    "user_password": ["user", "verifier"],
    "current_user": ["application", "user", "signed_in_at"],
    "pending_credential": ["digest", "application", "ends_at", "contents"],
    "service_refusal": ["account", "client_id", "resource", "service", "ends_at"],
  ]
}
