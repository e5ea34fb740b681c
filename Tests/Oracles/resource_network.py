"""A network with a resource on the internet, issuers, and servers that it must not reach, for test_resource_network.py.

    python resource_network.py FOLDER    (in a network and a mount namespace of its own, as root)

The only interface has public and private addresses. Each server is the same program, and answers as any host of the
network: a resource at each path, an issuer at each path. The log tells which address was asked.
"""
import http.server
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

KEY = ec.generate_private_key(ec.SECP256R1())
PUBLIC, PROXY = "198.20.0.1", "10.0.0.9"
INNER = {"loopback": "127.0.0.1", "private": "10.0.0.5", "metadata": "169.254.169.254", "mapped": "::ffff:10.0.0.5",
         "local6": "fd00::1", "127.0.0.1.nip": "127.0.0.1", "intranet": "10.0.0.6"}
NAMES = {"photos": PUBLIC, "issuer": PUBLIC, "moving": PUBLIC, **INNER}
PHOTOS, ISSUER, PRIVATE = "https://photos.example", "https://issuer.example", "https://private.example"
CODE = "urn:ietf:params:oauth:grant-type:device_code"

# The authorization servers that the resource names, and the other words of their metadata.
HOSTILE = {
    **{f"the name {name}": (f"https://{name}.example", {}) for name in INNER},
    "a link-local literal": ("https://169.254.169.254", {}),
    "a private literal": ("https://10.0.0.5", {}),
    "an IPv6 literal": ("https://[fd00::1]", {}),
    "localhost": ("https://localhost", {}),
    "a redirect of the metadata": (ISSUER + "/moved", {}),
    "a registration at a literal": (ISSUER, {"registration_endpoint": "https://169.254.169.254/r"}),
    "a registration at a name": (ISSUER, {"registration_endpoint": "https://loopback.example/r"}),
    "a redirect of the registration": (ISSUER, {"registration_endpoint": f"{ISSUER}/moved/r"}),
    "the token endpoint": (ISSUER, {"token_endpoint": f"{PRIVATE}/token"}),
    "a redirect of the token endpoint": (ISSUER, {"token_endpoint": f"{ISSUER}/moved/token"}),
    "pushed parameters": (ISSUER, {"pushed_authorization_request_endpoint": f"{PRIVATE}/par"}),
    "the request for a device code": (
        ISSUER, {"device_authorization_endpoint": f"{PRIVATE}/device", "authorization_endpoint": None,
                 "grant_types_supported": [CODE]}),
    "the keys": (ISSUER, {"jwks_uri": f"{PRIVATE}/keys"}),
}
# These let a sign-in succeed, and are asked later.
LATER = {"revocation": {"revocation_endpoint": f"{PRIVATE}/revoke"},
         "introspection": {"introspection_endpoint": f"{PRIVATE}/introspect", "registration_endpoint": f"{ISSUER}/secret",
                           "token_endpoint_auth_methods_supported": ["client_secret_post"]},
         "claims": {"userinfo_endpoint": f"{PRIVATE}/userinfo"}}
RESOURCES = {
    **{f"{PHOTOS}/{number}": (issuer, words) for number, (issuer, words) in enumerate(HOSTILE.values())},
    **{f"{PHOTOS}/{name}": (ISSUER, words) for name, words in LATER.items()},
    f"{PHOTOS}/good": (ISSUER, {}), f"{PHOTOS}/admitted": (PRIVATE, {}),
    "https://intranet.example/good": (PRIVATE, {}), f"{PHOTOS}/moving": ("https://moving.example", {}),
    f"{PHOTOS}/dotless": ("https://inner", {}),
}


def issuer(resource):
    """Returns the issuer of a resource, with a path of its own so that each is another provider."""
    return RESOURCES[resource][0] + urllib.parse.urlsplit(resource).path


def id_token(request):
    """Returns the id_token of the one issuer with right ones. The code of a sign-in is its nonce."""
    claims = {"iss": issuer(f"{PHOTOS}/claims"), "sub": "1", "aud": "c", "iat": int(time.time()),
              "exp": int(time.time()) + 300, "nonce": request.get("code")}
    return jwt.encode(claims, KEY, "ES256")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        base = f"https://{self.headers['Host']}"
        self.server.log.append([self.server.listener, self.command, base, self.path])
        path = self.path.partition("?")[0]
        if path.startswith("/.well-known/oauth-protected-resource/"):
            resource = base + path.removeprefix("/.well-known/oauth-protected-resource")
            if resource in RESOURCES:
                return self.answer({"resource": resource, "authorization_servers": [issuer(resource)]})
        elif path.startswith("/.well-known/oauth-authorization-server/moved"):
            return self.answer({}, 307, {"Location": PRIVATE + path})
        elif path.startswith("/.well-known/oauth-authorization-server/"):
            return self.answer(self.metadata(base, path.removeprefix("/.well-known/oauth-authorization-server")))
        elif path.startswith("/moved/"):
            return self.answer({}, 307, {"Location": f"{PRIVATE}/{path}"})
        elif path == "/register" or path.endswith("/r"):
            return self.answer({"client_id": "c", "token_endpoint_auth_method": "none"}, 201)
        elif path.endswith("/token") and any(word in body for word in (b"code=", b"refresh_token=")):
            return self.answer({"access_token": "t", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r",
                                "scope": "openid", "id_token": id_token(dict(urllib.parse.parse_qsl(body.decode())))})
        elif path == "/secret":
            return self.answer({"client_id": "c", "client_secret": "s",
                                "token_endpoint_auth_method": "client_secret_post"}, 201)
        elif path == "/keys":
            return self.answer({"keys": [jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True)]})
        elif path.endswith("/par"):
            self.server.pushed.update(urllib.parse.parse_qsl(body.decode()))
            return self.answer({"request_uri": "u", "expires_in": 90}, 201)
        elif path.endswith("/device"):
            return self.answer({"device_code": "d", "user_code": "u", "verification_uri": base, "expires_in": 90,
                                "interval": 1})
        elif path.endswith("/revoke"):
            return self.answer({})
        elif path.endswith("/introspect"):
            return self.answer({"active": True, "client_id": "c"})
        elif path.endswith("/userinfo"):
            return self.answer({"sub": "1"})
        self.answer({"error": "invalid_request"}, 404 if self.command == "GET" else 400)

    do_GET = do_POST = handle_any

    def metadata(self, base, path):
        words = next((words for resource, (_, words) in RESOURCES.items()
                      if urllib.parse.urlsplit(resource).path == path), {})
        document = {
            "issuer": base + path, "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register", "revocation_endpoint": f"{base}/revoke",
            "token_endpoint_auth_methods_supported": ["none"], "code_challenge_methods_supported": ["S256"],
            "grant_types_supported": ["authorization_code", "refresh_token"], "scopes_supported": ["openid"]}
        if {"userinfo_endpoint", "jwks_uri"} & set(words):
            document |= {"jwks_uri": f"{base}/keys", "id_token_signing_alg_values_supported": ["ES256"]}
        return {name: value for name, value in (document | words).items() if value is not None}

    def answer(self, value, status=200, headers={}):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        """Tunnels to the public server, whatever the name is. A real proxy would look it up."""
        self.server.log.append([self.server.listener, "CONNECT", "", self.path])
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        with socket.create_connection((PUBLIC, 443)) as far:
            def copy(source, sink):
                try:
                    while data := source.recv(65536):
                        sink.sendall(data)
                    sink.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
            back = threading.Thread(target=copy, args=(far, self.connection), daemon=True)
            back.start()
            copy(self.connection, far)
            back.join()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # The last pushed parameters.
    pushed = {}

    def __init__(self, address, port, log, context=None):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener, self.log, self.context = address, log, context
        super().__init__((address, port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        if self.context:
            self.log.append([self.listener, "connection", "", ""])
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, *_):
        pass


class Network:
    """The servers, and the names in the file of hosts."""

    def __init__(self, folder):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        inner = sorted(set(INNER.values()) - {"127.0.0.1", "::ffff:10.0.0.5"})
        for address in [PUBLIC, PROXY, *inner]:
            extra = ["nodad"] if ":" in address else []
            subprocess.run(["ip", "address", "add", address, "dev", "lo", *extra], check=True)
        self.hosts, self.log = Path(folder, "hosts"), []
        self.name(NAMES)
        subprocess.run(["mount", "--bind", self.hosts, "/etc/hosts"], check=True)
        self.authority, context = certificates(folder)
        for address in [PUBLIC, "127.0.0.1", *inner]:
            Server(address, 443, self.log, context)
        Server(PROXY, 3128, self.log)

    def name(self, names):
        with self.hosts.open("w") as file:
            file.write("127.0.0.1 localhost\n10.0.0.5 inner\n")
            file.writelines(f"{address} {name}.example\n" for name, address in names.items())

    def asked(self):
        """Returns the requests since the last call, and empties the log."""
        asked = [entry for entry in self.log if entry[1] != "connection" or entry[0] != PUBLIC]
        self.log.clear()
        return asked


def certificates(folder):
    """Returns the file of an authority, and the context of its servers."""
    def openssl(name, subject, *more):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.pem", *more],
                       cwd=folder, check=True, capture_output=True)
    hosts = [*(f"DNS:{name}.example" for name in NAMES), "DNS:inner", "DNS:localhost",
             *(f"IP:{address}" for address in ("127.0.0.1", "169.254.169.254", "10.0.0.5", "fd00::1"))]
    openssl("authority", "authority", "-addext", "keyUsage=critical,keyCertSign")
    openssl("server", "server", "-CA", "authority.pem", "-CAkey", "authority.key", "-addext",
            "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={','.join(hosts)}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(folder, "server.pem"), Path(folder, "server.key"))
    return Path(folder, "authority.pem"), context


class Person:
    """A front end and its person, who allows everything on the page of an issuer."""

    def __init__(self, network, folder, store="memory", **configuration):
        from session import Session
        path = Path(folder, "config.json")
        path.touch(0o600)
        path.write_text(json.dumps({"caFile": str(network.authority), **configuration}))
        options = [] if store == "memory" else ["--key-file", f"{folder}/keys/key"]
        self.network, self.session = network, Session("--config", str(path), *options, store=store)
        self.session.call("initialize", client={"name": "network-test"},
                          capabilities={"prompts": ["openURL", "deviceCode"]})

    def ask(self, method, **params):
        """Returns the result or the error of a request, and the requests to servers that it led to."""
        self.network.asked()
        id = self.session.send(method, **params)
        while isinstance(message := self.session.message(), dict):
            if message["method"] == "prompt.opened":
                self.allow(message["params"])
        assert message.id == id
        outcome = {"result": message.result} if hasattr(message, "result") else {"error": message.data,
                                                                                 "message": message.message}
        return outcome | {"asked": self.network.asked()}

    def allow(self, prompt):
        if prompt["kind"] != "openURL":
            return
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(prompt["url"]).query))
        query = Server.pushed if "request_uri" in query else query
        back = query["redirect_uri"] + "?" + urllib.parse.urlencode({"code": query.get("nonce", "1"), "state": query["state"]})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(back, timeout=60).close()

    def sign_in(self, resource, **params):
        outcome = self.ask("accounts.signIn", resource=resource, **params)
        if "result" in outcome:
            self.session.call("access.set", provider=outcome["result"]["provider"], state="granted")
        return outcome

    def journey(self, resource):
        """Returns the outcomes of a sign-in, of a refresh and of a sign-out."""
        signed_in = self.sign_in(resource)
        if "error" in signed_in:
            return [signed_in]
        account = signed_in["result"]["account"]
        return [signed_in, self.ask("credentials.get", account=account, resource=resource, forceRefresh=True),
                self.ask("accounts.signOut", account=account)]

    def close(self):
        self.session.close()


def run(folder):
    network = Network(folder)
    results = {}
    person = Person(network, folder)
    results["hostile"] = {name: person.sign_in(f"{PHOTOS}/{number}") for number, name in enumerate(HOSTILE)}
    results["good"] = person.journey(f"{PHOTOS}/good")
    results["intranet"] = person.journey("https://intranet.example/good")
    results["revocation"] = person.journey(f"{PHOTOS}/revocation")
    for name in ("introspection", "claims"):
        provider = person.sign_in(f"{PHOTOS}/{name}")["result"]["provider"]
        results[name] = person.ask("verify", provider=provider, credential={"type": "oauth2", "token": "t"})
    results["added"] = person.ask("providers.add", issuer=f"{PRIVATE}/added")
    person.close()

    # Control: every place is there for a person who admits it.
    person = Person(network, folder, internalHosts=[
        *(f"{name}.example" for name in INNER), "169.254.169.254", "10.0.0.5", "[fd00::1]", "localhost"])
    results["control"] = {name: person.sign_in(f"{PHOTOS}/{number}")["asked"] for number, name in enumerate(HOSTILE)}
    person.close()
    person = Person(network, folder, internalHosts=["private.example"])
    results["admitted"] = person.journey(f"{PHOTOS}/admitted")
    results["others"] = person.sign_in(f"{PHOTOS}/{list(HOSTILE).index('the name loopback')}")
    person.close()

    results |= moved(network, folder)
    results["proxy"] = proxied(network, folder)
    print(json.dumps(results))


def moved(network, folder):
    """The name of an issuer leads to another address after the sign-in, in another process too."""
    results, resource, store = {}, f"{PHOTOS}/moving", f"{folder}/data/store.db"
    person = Person(network, folder, store)
    account = person.sign_in(resource)["result"]["account"]
    ask = {"account": account, "resource": resource, "forceRefresh": True}
    results["before"] = person.ask("credentials.get", **ask)
    network.name({**NAMES, "moving": "127.0.0.1"})
    person.close()
    person = Person(network, folder, store)
    results["rebound"] = person.ask("credentials.get", **ask)
    person.ask("providers.add", issuer="https://moving.example/moving")
    results["by hand"] = person.ask("credentials.get", **ask)
    person.close()
    network.name(NAMES)
    return results


def proxied(network, folder):
    """A proxy looks up names itself; the hosts of `no_proxy` are asked without it."""
    os.environ |= {"https_proxy": f"http://{PROXY}:3128", "no_proxy": "loopback.example"}
    cases = {name: f"{PHOTOS}/{list(HOSTILE).index(name)}"
             for name in ("a private literal", "the name loopback", "the name private")}
    cases |= {"a name without a dot": f"{PHOTOS}/dotless", "good": f"{PHOTOS}/good"}
    person = Person(network, folder)
    results = {name: person.sign_in(resource) for name, resource in cases.items()}
    person.close()
    del os.environ["https_proxy"], os.environ["no_proxy"]
    return results


if __name__ == "__main__":
    run(sys.argv[1])
