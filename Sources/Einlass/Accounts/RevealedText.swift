internal import EinlassCrypto

/// Returns a secret as text, for the request that carries it.
func revealedText(_ secret: Secret) -> String {
  String(decoding: secret.reveal(), as: UTF8.self)
}

/// Returns a secret as bytes, for the computation that needs them.
func revealedBytes(_ secret: Secret) -> [UInt8] { secret.reveal() }
