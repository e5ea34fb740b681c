internal import EinlassCrypto

/// A secret as text, for the request that carries it. The only place but the signer that reveals one.
func revealedText(_ secret: Secret) -> String {
  String(decoding: secret.reveal(), as: UTF8.self)
}

/// A secret as bytes, for the computation that needs them.
func revealedBytes(_ secret: Secret) -> [UInt8] { secret.reveal() }
