"""A protected resource in front of django-oauth-toolkit, with its metadata (RFC 9728).

    python resource_server.py PORT ISSUER

`/mcp` and `/other` require a token of the issuer with this resource as its only audience (RFC 8707) and with the
scope `photos`. Without a token they answer with the address of their metadata. The issuer's introspection decides
on each token (RFC 7662). `POST /__servers` with a JSON list changes the issuers that the resource names; its last one
decides. `/liar` is an issuer with the metadata of ISSUER. See oracle.py for the rest.
"""
import base64
import json
import sys
import urllib.parse
import urllib.request

from oracle import Answer, run

ISSUER = sys.argv[2]
SERVERS = [ISSUER]
METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
CLIENT = urllib.parse.quote("basic") + ":" + urllib.parse.quote("s3cret: with/odd+chars", safe="")


def fetch(request):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)


def known(token):
    """Returns the issuer's introspection of a token."""
    proof = "Basic " + base64.b64encode(CLIENT.encode()).decode()
    form = urllib.parse.urlencode({"token": token}).encode()
    return fetch(urllib.request.Request(SERVERS[-1] + "/introspect/", form, {"Authorization": proof}))


def challenge(base, path, status, **more):
    words = {"resource_metadata": base + METADATA + path, "scope": "photos", **more}
    value = "Bearer " + ", ".join(f'{name}="{text}"' for name, text in words.items())
    return Answer(status, {"error": more.get("error", "unauthorized")}, headers={"WWW-Authenticate": value})


def answer(base, request):
    if request.path == "/__servers":
        SERVERS[:] = json.loads(request.body)
        return Answer(200, {})
    if request.path == SERVER_METADATA + "/liar":
        return Answer(200, fetch(ISSUER + "/.well-known/openid-configuration"))
    if request.path.startswith(METADATA + "/"):
        path = request.path.removeprefix(METADATA)
        return Answer(200, {"resource": base + path, "authorization_servers": SERVERS, "scopes_supported": ["photos"],
                            "bearer_methods_supported": ["header"], "resource_name": "Photos"})
    if request.path not in ("/mcp", "/other"):
        return Answer(404, {})
    if request.bearer is None:
        return challenge(base, request.path, 401)
    said = known(request.bearer)
    if not said.get("active") or said.get("aud") != [base + request.path]:
        return challenge(base, request.path, 401, error="invalid_token")
    if "photos" not in said.get("scope", "").split():
        return challenge(base, request.path, 403, error="insufficient_scope")
    return Answer(200, {"person": said.get("username"), "client": said.get("client_id")})


def ready(base):
    return {"resource": base + "/mcp", "other": base + "/other", "metadata": base + METADATA + "/mcp",
            "liar": base + "/liar"}


if __name__ == "__main__":
    run(answer, ready)
