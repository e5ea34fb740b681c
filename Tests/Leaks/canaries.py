"""Secrets that can be recognized, and the search for them in anything that leaves a process."""
import base64
import secrets

# Of the system: in no result, notification, log or file, ever. Own: handed out in the permitted fields alone.
SYSTEM = ("systemKey", "systemSecret", "systemConsumerSecret", "systemToken", "refreshToken", "twitterSecret",
          "facebookSecret", "reverseSignature", "passphrase", "storeKey",
          "sequencingSecret", "authorizationCode", "signedInRefresh", "privateKey", "deviceCode",
          "requestSecret", "verifier")
# Those too, but einlass makes them itself: they are known once a provider or a file of accounts has shown them.
LEARNED = ("codeVerifier", "proofKey")
OWN = ("ownKey", "ownSecret", "minted", "signedIn", "idToken")


def fresh():
    """A canary for each class; short, so that nothing hides it just for looking like a token."""
    return {name: "cnry" + secrets.token_hex(10) for name in SYSTEM + OWN}


def cuts(data, encode):
    """Base 64 depends on where the secret stands within what was encoded: whole groups of three bytes."""
    return [encode(data[offset:][:len(data[offset:]) // 3 * 3]) for offset in range(3)]


ENCODINGS = {
    "raw": lambda data: [data],
    "hexadecimal": lambda data: [data.hex().encode(), data.hex().upper().encode()],
    "base64": lambda data: cuts(data, base64.b64encode),
    "base64url": lambda data: cuts(data, base64.urlsafe_b64encode),
    "percent": lambda data: [b"".join(b"%%%02X" % byte for byte in data), b"".join(b"%%%02x" % byte for byte in data)],
    "utf16": lambda data: [data.decode("latin-1").encode("utf-16-le"), data.decode("latin-1").encode("utf-16-be")],
    "reversed": lambda data: [data[::-1]],
}


def found(canaries, content):
    """What of them stands in these bytes, as `class encoding`."""
    return [f"{name} {encoding}" for name, secret in canaries.items() for encoding, forms in ENCODINGS.items()
            if any(form in content for form in forms(secret if isinstance(secret, bytes) else secret.encode()))]
