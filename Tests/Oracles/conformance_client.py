"""MCP clients for conformance_scenarios.py: the requests of every client, and a plain client without einlass. The plain
client passes each scenario, and fails it with one of its faults.
"""
import base64
import hashlib
import json
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

import jwt
from cryptography.hazmat.primitives import serialization

from browser import Stay
from conformance_extensions import JWT_BEARER, TOKEN_EXCHANGE, TOKEN_TYPE
from conformance_scenarios import PRM, provider_id
from conformance_server import LOOPBACK, b64, jwk, new_key, signed

# Follows no redirect.
OPENER = urllib.request.build_opener(Stay, urllib.request.ProxyHandler({}))


def send(address, body=None, **headers):
    """Returns status, headers and body. A dictionary is sent as a form, bytes as JSON."""
    if isinstance(body, dict):
        body = urllib.parse.urlencode(body).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    elif body is not None:
        headers = {"Content-Type": "application/json", **headers}
    try:
        answer = OPENER.open(urllib.request.Request(address, body, headers), timeout=60)
    except urllib.error.HTTPError as failure:
        answer = failure
    with answer:
        text = answer.read().decode()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, answer.headers, json.loads(text) if is_json else text


class Refused(Exception):
    """The client gives up."""


class Client:
    """The requests of an MCP client. `sign_in` gets a token, and `headers` returns the headers with it."""

    def __init__(self, run):
        self.run, self.step_ups, self.is_signed_in, self.nonce = run, run.step_ups, False, None

    def play(self):
        for method in self.run.requests:
            self.request(method)

    def request(self, method):
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode()
        renewed = False
        while True:
            sent = self.nonce
            status, answered, _ = send(self.run.url, message, **self.headers() if self.is_signed_in else {})
            self.nonce = answered.get("DPoP-Nonce") or self.nonce
            challenge = answered.get("WWW-Authenticate", "")
            if status == 200:
                return
            if status == 401 and not self.is_signed_in:
                self.sign_in(challenge)
                self.is_signed_in = True
            elif status == 401 and "use_dpop_nonce" in challenge and self.nonce != sent:
                continue
            elif status == 401 and not renewed:
                renewed = True
                self.renew(challenge)
            elif status == 403 and "insufficient_scope" in challenge and self.step_ups:
                self.step_ups -= 1
                self.step_up(challenge)
            else:
                raise Refused(status)


class PlainClient(Client):
    """An MCP client of its own, with at most one fault."""

    def __init__(self, run, fault=None):
        super().__init__(run)
        self.fault, self.registered, self.asked, self.key, self.proof = fault, {}, [], new_key(), None
        self.step_ups = {"no step-up": 0, "no limit": 9}.get(fault, self.step_ups)

    def headers(self):
        if self.is_bound and self.fault != "bearer scheme":
            return {"Authorization": "DPoP " + self.token, "DPoP": self.prove(self.run.url, self.token)}
        return {"Authorization": "Bearer " + self.token}

    def renew(self, challenge):
        self.sign_in(challenge)

    def step_up(self, challenge):
        self.sign_in(challenge, self.asked if self.fault != "only the challenged scope" else [])

    def sign_in(self, challenge, granted=()):
        self.challenge = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        self.description = self.describe()
        resource = self.description["resource"]
        if not (self.run.url + "/").startswith(resource + "/") and self.fault != "any resource":
            raise Refused("another resource")
        issuer = self.description["authorization_servers"][0]
        server = self.metadata(issuer)
        if server["issuer"] != issuer and self.fault != "any issuer of metadata":
            raise Refused("metadata of another issuer")
        if self.run.flow == "clientCredentials":
            form = {"grant_type": "client_credentials", "resource": resource}
        elif self.run.flow == "jwtBearer":
            form = {"grant_type": JWT_BEARER, "assertion": self.assertion(server), "resource": resource}
        else:
            form = self.code(server, issuer, resource, list(granted))
        self.answer(server, issuer, form)

    def describe(self):
        origin = self.run.url.removesuffix("/mcp")
        places = [self.challenge.get("resource_metadata", origin + PRM + "/mcp"), origin + PRM]
        for place in reversed(places) if self.fault == "root first" else places:
            status, _, description = send(place)
            if status == 200:
                return description
        raise Refused("no description")

    def metadata(self, issuer):
        split = urllib.parse.urlsplit(issuer)
        origin = f"{split.scheme}://{split.netloc}"
        places = ["/.well-known/oauth-authorization-server" + split.path,
                  "/.well-known/openid-configuration" + split.path, split.path + "/.well-known/openid-configuration"]
        if self.fault == "metadata at the root":
            places.insert(0, "/.well-known/oauth-authorization-server")
        for place in places:
            status, _, metadata = send(origin + place)
            if status == 200:
                return metadata
        raise Refused("no metadata")

    def client(self, server, issuer):
        """Returns the client id and the secret at this server."""
        given = self.run.registrations.get(provider_id(issuer))
        if given and self.fault != "another client":
            return given["clientId"], given.get("clientSecret")
        if given:
            return "another", "secret"
        if self.fault == "one registration for all" and self.registered:
            return next(iter(self.registered.values()))
        if self.run.document and server.get("client_id_metadata_document_supported"):
            if self.fault != "registers always":
                return self.run.document, None
        if issuer not in self.registered:
            wish = {"redirect_uris": LOOPBACK, "application_type": "native",
                    "grant_types": ["authorization_code", "refresh_token"]}
            wish.pop({"no application type": "application_type", "no grant types": "grant_types"}.get(self.fault), None)
            _, _, answer = send(server["registration_endpoint"], json.dumps(wish).encode())
            self.registered[issuer] = answer["client_id"], answer.get("client_secret")
        return self.registered[issuer]

    def scopes(self, server, granted):
        wanted = self.challenge["scope"].split() if "scope" in self.challenge else (
            self.description.get("scopes_supported", []))
        wanted = {"no scope": [], "one scope": wanted[:1], "an own scope": ["mcp:own"]}.get(self.fault, wanted)
        offers = "offline_access" in server.get("scopes_supported", [])
        if {"offline always": True, "no offline_access": False}.get(self.fault, offers):
            wanted = wanted + ["offline_access"]
        return list(dict.fromkeys(granted + wanted))

    def code(self, server, issuer, resource, granted):
        verifier = secrets.token_urlsafe(40)
        self.asked = self.scopes(server, granted)
        query = {"response_type": "code", "client_id": self.client(server, issuer)[0], "state": "state",
                 "redirect_uri": "http://127.0.0.1:7/callback", "resource": resource, "scope": " ".join(self.asked),
                 "code_challenge": b64(hashlib.sha256(verifier.encode()).digest()), "code_challenge_method": "S256"}
        if self.fault == "no PKCE":
            del query["code_challenge"], query["code_challenge_method"]
        if self.fault == "no resource":
            del query["resource"]
        query = {name: text for name, text in query.items() if text}
        status, answered, _ = send(server["authorization_endpoint"] + "?" + urllib.parse.urlencode(query))
        assert status == 302
        words = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answered["Location"]).query))
        self.compare(words.get("iss"), server)
        form = {"grant_type": "authorization_code", "code": words["code"], "redirect_uri": query["redirect_uri"],
                "code_verifier": verifier, "resource": resource}
        for name in {"no PKCE": ["code_verifier"], "no resource": ["resource"]}.get(self.fault, []):
            del form[name]
        return form

    def compare(self, iss, server):
        if self.fault == "normalizes iss":
            iss = iss.rstrip("/")
        promised = server.get("authorization_response_iss_parameter_supported")
        is_wrong = iss != server["issuer"] if iss or promised else False
        if is_wrong and self.fault != "any iss" or iss and self.fault == "no iss expected":
            raise Refused("iss")

    def assertion(self, server):
        if self.run.identities is None:
            again = {"expired again": "expired", "client credentials instead": "expired"}
            return self.run.bad_assertions.get(again.get(self.fault, self.fault), self.run.assertion)
        provider = self.run.identities
        client = self.run.registrations[provider_id(provider.issuer)]["clientId"]
        form = {"grant_type": TOKEN_EXCHANGE, "subject_token": provider.id_token(client), "resource": self.run.url,
                "subject_token_type": TOKEN_TYPE + "id_token", "requested_token_type": TOKEN_TYPE + "id-jag",
                "audience": server["issuer"], "client_id": client}
        if self.fault == "no audience":
            del form["audience"]
        if self.fault == "an id_token as assertion":
            return form["subject_token"]
        return send(provider.metadata["token_endpoint"], form)[2].get("access_token", "")

    def answer(self, server, issuer, form):
        """Sends the token request, and takes the token."""
        id, secret = self.client(server, issuer)
        method, headers = server["token_endpoint_auth_methods_supported"][0], {}
        if self.fault == "another authentication":
            method = {"client_secret_basic": "client_secret_post", "client_secret_post": "client_secret_basic",
                      "none": "client_secret_basic"}[method]
        if method == "client_secret_basic":
            headers["Authorization"] = "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()
        elif method == "client_secret_post":
            form |= {"client_id": id, "client_secret": secret}
        elif method == "private_key_jwt":
            key = serialization.load_pem_private_key(
                self.run.registrations[provider_id(issuer)]["privateKey"].encode(), None)
            audience = "https://wrong.example" if self.fault == "another audience" else server["issuer"]
            form |= {"client_assertion": signed(key, iss=id, sub=id, aud=audience),
                     "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
        else:
            form |= {"client_id": id}
        if self.fault == "no assertion":
            del form["assertion"]
        self.is_bound = self.run.proofs and self.fault != "no proof for the token"
        address, nonce = server["token_endpoint"], None
        for _ in range(2):
            if self.is_bound:
                headers["DPoP"] = self.prove(address, nonce=nonce)
            status, answered, body = send(address, dict(form), **headers)
            nonce = answered.get("DPoP-Nonce")
            if nonce is None or self.fault == "no nonce for the token":
                break
        if status != 200 and self.fault in ("expired again", "client credentials instead"):
            other = {**form, "grant_type": "client_credentials"} if "instead" in self.fault else form
            send(address, other, **headers)
        if status != 200:
            raise Refused(body)
        self.token = body["access_token"]

    def prove(self, address, token=None, nonce=None):
        nonce = nonce or (self.nonce if token and self.fault != "no nonce for the resource" else None)
        claims = {"jti": secrets.token_urlsafe(12), "htm": "POST", "htu": address, "iat": int(time.time())}
        if token:
            claims["ath"] = b64(hashlib.sha256(token.encode()).digest())
        if nonce:
            claims["nonce"] = nonce
        head = {"typ": "dpop+jwt", "jwk": jwk(self.key)}
        proof = jwt.encode(claims, self.key, algorithm="ES256", headers=head)
        if token and self.fault == "one proof":
            self.proof = self.proof or proof
            return self.proof
        return proof
