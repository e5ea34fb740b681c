"""id_tokens with PyJWT: `make ALGORITHM` prints a token, its keys and the arguments of native/baretoken.c, as JSON;
`verify COUNT TOKEN KEYS` prints the seconds for this many verifications."""

import json
import sys
import time

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

ISSUER, CLIENT = "https://issuer.example.org", "client"


def make(name):
    key = rsa.generate_private_key(65537, 2048) if name == "RS256" else ec.generate_private_key(ec.SECP256R1())
    now = int(time.time())
    token = jwt.encode(
        {"iss": ISSUER, "aud": CLIENT, "sub": "24400320", "iat": now, "exp": now + 86_400, "nonce": "n-0S6_WzA2Mj",
         "auth_time": now, "name": "Ada Lovelace", "email": "ada@example.org"}, key, name, {"kid": "one"})
    message, _, signature = token.rpartition(".")
    signature = jwt.utils.base64url_decode(signature)
    if name == "ES256":
        halves = (int.from_bytes(half) for half in (signature[:32], signature[32:]))
        signature = encode_dss_signature(*halves)
    member = jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True) | {
        "kid": "one", "use": "sig", "alg": name}
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    print(json.dumps({"token": token, "keys": json.dumps({"keys": [member]}), "pem": pem.decode(), "message": message,
                      "signature": signature.hex(), "now": now, "issuer": ISSUER, "client": CLIENT}))


def verify(count, token, keys):
    key = jwt.PyJWKSet.from_json(keys)["one"]
    begin = time.perf_counter()
    for _ in range(int(count)):
        jwt.decode(token, key, [key.algorithm_name], audience=CLIENT, issuer=ISSUER,
                   options={"require": ["exp", "iat", "sub"]})
    print(time.perf_counter() - begin)


{"make": make, "verify": verify}[sys.argv[1]](*sys.argv[2:])
