"""The required client scenarios of the MCP conformance suite for authorization, each as options of
conformance_server.py and as checks. The optional ones are in conformance_extensions.py.

The names of the scenarios and the ids of the checks are those of the suite @modelcontextprotocol/conformance 0.2.0,
under the MIT License or the Apache License 2.0. The servers and the conditions are written anew.
"""
import base64
import re

from conformance_server import AuthorizationServer, Checks, ProtectedResource, refusal

DOCUMENT = "https://conformance-test.local/client-metadata.json"
PRM = "/.well-known/oauth-protected-resource"
SCENARIOS = {}


def scenario(name):
    def add(function):
        SCENARIOS[name] = function
        return function
    return add


class Run:
    """A run of one scenario.

    - `requests`: the methods of the client's MCP requests. `step_ups`: the number of its further sign-ins after a 403.
    - `flow`: the `flowKind` of the sign-in. `registrations`: the client's registrations by provider id.
    - `document`: the address of the client's own metadata.
    - `identities`: the identity provider of `jwtBearer`; without it, the assertion is the text `assertion`. The server
      refuses each of the `bad_assertions`.
    - `proofs`: whether tokens are bound to a key.
    """

    def __init__(self, name):
        self.checks, self.hosts, self.required, self.last = Checks(), [], set(), []
        self.requests, self.step_ups = ["tools/list", "tools/call"], 1
        self.flow, self.registrations, self.document = None, {}, None
        self.identities, self.assertion, self.bad_assertions, self.proofs = None, None, {}, False
        SCENARIOS[name](self)

    def server(self, **options):
        self.hosts.append(AuthorizationServer(self.checks, **options))
        return self.hosts[-1]

    def resource(self, *servers, **options):
        self.hosts.append(ProtectedResource(self.checks, *servers, **options))
        self.url = self.hosts[-1].url
        return self.hosts[-1]

    def register(self, server, **registration):
        self.registrations[provider_id(server.address)] = registration

    def requires(self, *ids):
        """A check with one of these ids fails if the client never comes to it."""
        self.required |= set(ids)

    def at_the_end(self, id, passed):
        """Adds a check whose condition is evaluated at the end."""
        self.requires(id)
        self.last.append((id, passed))

    def close(self):
        for host in self.hosts:
            host.close()

    def result(self):
        """Returns the most severe word of each check."""
        for id, passed in self.last:
            self.checks.add(id, passed())
        self.last = []
        return {**{id: "FAILURE" for id in self.required}, **self.checks.worst()}


def provider_id(issuer):
    """Returns the id of a provider that was added by this issuer (`WebAddress.providerID`)."""
    return re.sub("[^a-z0-9.]", "-", issuer.removeprefix("http://"))


def scopes_of(request):
    return request.query.get("scope", "").split()


# Discovery

def discovery(name, description, challenges, metadata, prefix="", traps=()):
    @scenario("auth/" + name)
    def run(it):
        server_traps = {"/.well-known/oauth-authorization-server": "authorization-server-metadata-wrong-path"}
        server = it.server(well_known=metadata, prefix=prefix, traps=server_traps if prefix else ())
        it.resource(server, well_known=description, challenges=challenges, traps=traps)
        it.requires("authorization-server-metadata", "client-registration", "authorization-request", "token-request")
        if description == PRM + "/mcp":
            it.requires("prm-pathbased-requested")


discovery("metadata-default", PRM + "/mcp", True, "/.well-known/oauth-authorization-server",
          traps={PRM: "prm-priority-order"})
discovery("metadata-var1", PRM + "/mcp", False, "/.well-known/openid-configuration")
discovery("metadata-var2", PRM, False, "/.well-known/oauth-authorization-server/tenant1", "/tenant1")
discovery("metadata-var3", "/custom/metadata/location.json", True, "/tenant1/.well-known/openid-configuration",
          "/tenant1")


@scenario("auth/metadata-issuer-mismatch")
def metadata_of_another_issuer(it):
    server = it.server(issuer="https://attacker.example.com", prefix="/mismatched-as")
    server.address = server.base  # in the description of the resource
    it.resource(server)
    used = {"client-registration", "authorization-request", "token-request"}
    it.at_the_end("sep-2468-client-validate-metadata-issuer", lambda: (
        "authorization-server-metadata" in it.checks.worst() and not used & set(it.checks.worst())))


@scenario("auth/resource-mismatch")
def description_of_another_resource(it):
    it.resource(it.server(client=("test-client", None), registered="none"), resource="https://evil.example.com/mcp")
    it.requires("prm-pathbased-requested")
    it.at_the_end("resource-mismatch-rejected", lambda: "authorization-request" not in it.checks.worst())


# Registrations

@scenario("auth/basic-cimd")
def client_metadata_document(it):
    def page(request):
        it.checks.add("cimd-client-id-used", request.query.get("client_id") == DOCUMENT, "WARNING")

    it.document = DOCUMENT
    it.resource(it.server(members={"client_id_metadata_document_supported": True}, on_page=page))
    it.requires("cimd-client-id-used")


def basic(request):
    """Returns the client id and the secret of an `Authorization: Basic` header, or `None`."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Basic":
        return None
    try:
        id, colon, secret = base64.b64decode(text).decode().partition(":")
    except ValueError:
        return None
    return (id, secret) if colon else None


def with_basic(it, id, client):
    """Returns a token endpoint's hook for a client that must send its secret in the header."""
    def token(request):
        it.checks.add(id, basic(request) == client)
        return [] if basic(request) == client else refusal("invalid_client", 401)
    it.requires(id)
    return token


@scenario("auth/pre-registration")
def registered_before(it):
    client = ("pre-registered-client", "pre-registered-secret")
    # A client with metadata of its own prefers the registration, although the server supports such metadata.
    members = {"registration_endpoint": None, "client_id_metadata_document_supported": True}
    server = it.server(methods=["client_secret_basic"], members=members,
                       on_token=with_basic(it, "pre-registration-auth", client))
    it.register(server, clientId=client[0], clientSecret=client[1])
    it.resource(server)


def token_endpoint(name, method):
    @scenario("auth/token-endpoint-auth-" + name)
    def run(it):
        named = {}

        def page(request):
            named["page"] = request.query.get("resource")
            it.checks.add("resource-parameter-in-authorization", bool(named["page"]))

        def token(request):
            named["token"] = request.form.get("resource")
            used = "client_secret_basic" if basic(request) else "none"
            used = "client_secret_post" if "client_secret" in request.form else used
            it.checks.add("token-endpoint-auth-method", used == method)
            it.checks.add("resource-parameter-in-token", bool(named["token"]))
            it.checks.add("resource-parameter-valid-uri", re.fullmatch("https?://[^/#]+[^#]*", named["token"] or ""))
            it.checks.add("resource-parameter-consistency", named["token"] == named.get("page"))

        secret = None if method == "none" else "test-secret"
        it.resource(it.server(methods=[method], client=("test-client", secret), registered=method, on_page=page,
                              on_token=token))
        it.requires("token-endpoint-auth-method", "resource-parameter-in-authorization", "resource-parameter-in-token",
                    "resource-parameter-valid-uri", "resource-parameter-consistency")


token_endpoint("basic", "client_secret_basic")
token_endpoint("post", "client_secret_post")
token_endpoint("none", "none")


@scenario("auth/authorization-server-migration")
def another_authorization_server(it):
    leaked = "as1-client-id-LEAKED-IF-SEEN-AT-AS2"
    seen, first = {}, it.server(client=(leaked, "as1-client-secret"))

    def note(request):
        seen[request.query.get("client_id") or request.form.get("client_id") or (basic(request) or [""])[0]] = True

    second = it.server(client=("as2-client-id", "as2-client-secret"), on_page=note, on_token=note,
                       on_registration=lambda wish: seen.update(registration=True))
    resource = it.resource(first, second)

    def guard(request, method):
        if request.bearer is None or resource.granted(request.bearer) is None:
            return resource.refuse(401, "invalid_token", scope="mcp:basic")
        if resource.servers[0] is first:
            resource.servers.reverse()
            return None
        return None if request.bearer in second.tokens else resource.refuse(401, "invalid_token", scope="mcp:basic")

    resource.guard = guard
    it.at_the_end("sep-2352-reregister-on-as-change", lambda: "registration" in seen)
    it.at_the_end("sep-2352-no-reuse-on-as-change", lambda: leaked not in seen)
    it.at_the_end("sep-2352-no-cross-as-credential-reuse", lambda: leaked not in seen)


# Scopes

def scope_selection(name, passed, server=(), otherwise="WARNING", check=None, **resource):
    @scenario("auth/" + name)
    def run(it):
        def page(request):
            it.checks.add(check or name, passed(scopes_of(request)), otherwise)

        it.resource(it.server(on_page=page, **dict(server)), **resource)
        it.requires(check or name)


THREE = ["mcp:basic", "mcp:read", "mcp:write"]
scope_selection("scope-from-www-authenticate", lambda asked: "mcp:basic" in asked, required=["mcp:basic"])
scope_selection("scope-from-scopes-supported", lambda asked: set(THREE) <= set(asked), scopes=THREE)
scope_selection("scope-omitted-when-undefined", lambda asked: not asked)
scope_selection("offline-access-not-supported", lambda asked: "offline_access" not in asked, otherwise="FAILURE",
                check="sep-2207-offline-access-not-requested", scopes=THREE[:2],
                server={"members": {"scopes_supported": THREE[:2]}})


@scenario("auth/offline-access-scope")
def offline_access(it):
    def registration(wish):
        it.checks.add("sep-2207-client-metadata-grant-types", "refresh_token" in wish.get("grant_types", []), "WARNING")

    def page(request):
        it.checks.add("sep-2207-offline-access-requested", "offline_access" in scopes_of(request), "INFO")

    members = {"scopes_supported": ["mcp:basic", "offline_access"], "client_id_metadata_document_supported": True}
    it.resource(it.server(members=members, on_registration=registration, on_page=page), scopes=["mcp:basic"])
    it.requires("sep-2207-client-metadata-grant-types", "sep-2207-offline-access-requested")


@scenario("auth/scope-step-up")
def step_up(it):
    pages = []

    def page(request):
        asked = scopes_of(request)
        pages.append(asked)
        if len(pages) == 1:
            it.checks.add("scope-step-up-initial", "mcp:basic" in asked, "WARNING")
        elif len(pages) == 2:
            it.checks.add("scope-step-up-escalation", "mcp:write" in asked, "WARNING")
            it.checks.add("sep-2350-scope-union-on-reauth", "mcp:basic" in asked, "WARNING")

    def guard(request, method):
        scopes = resource.granted(request.bearer) if request.bearer else None
        if scopes is None:
            return resource.refuse(401, None, scope="mcp:basic")
        needed = "mcp:write" if method == "tools/call" else "mcp:basic"
        return None if needed in scopes else resource.refuse(403, "insufficient_scope", scope=needed)

    resource = it.resource(it.server(on_page=page), scopes=["mcp:profile"], guard=guard)
    it.requires("scope-step-up-initial", "scope-step-up-escalation", "sep-2350-scope-union-on-reauth")


@scenario("auth/scope-retry-limit")
def hopeless_step_up(it):
    pages, requests = [], []

    def guard(request, method):
        if request.bearer is None:
            return resource.refuse(401, None, scope="mcp:admin")
        requests.append(method)
        return refusal("test_complete", 410) if len(requests) > 3 else resource.refuse(
            403, "insufficient_scope", scope="mcp:admin")

    resource = it.resource(it.server(on_page=pages.append), scopes=["mcp:admin"], guard=guard)
    it.step_ups = 2
    it.at_the_end("scope-retry-limit", lambda: 1 <= len(pages) <= 3)


# The issuer in the redirect

def issuer_in_redirect(name, promised, iss, check, accepted):
    @scenario("auth/" + name)
    def run(it):
        it.resource(it.server(members={"authorization_response_iss_parameter_supported": promised}, iss=iss))
        it.at_the_end(check, lambda: "authorization-request" in it.checks.worst() and (
            "token-request" in it.checks.worst()) == accepted)


issuer_in_redirect("iss-supported", True, "correct", "sep-2468-client-compare-iss-supported", True)
issuer_in_redirect("iss-not-advertised", None, "omit", "sep-2468-client-proceed-no-iss", True)
issuer_in_redirect("iss-supported-missing", True, "omit", "sep-2468-client-reject-missing-iss", False)
issuer_in_redirect("iss-wrong-issuer", True, "wrong", "sep-2468-client-compare-iss-supported", False)
issuer_in_redirect("iss-unexpected", None, "wrong", "sep-2468-client-compare-iss-unadvertised", False)
issuer_in_redirect("iss-normalized", True, "normalized", "sep-2468-client-no-normalization", False)
