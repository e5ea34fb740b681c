"""An OAuth 2.0 and OpenID provider: django-oauth-toolkit, with its own pages for consent and devices.

    pip install -r requirements.txt
    python oauth2_server.py PORT [resources]        (0 = any)

The library implements the protocol; this file has settings, users, clients, a sign-in page and keys. The library
binds tokens to the `resource` of RFC 8707 and refuses a resource that was not granted, but does not require one;
with `resources` each request must name one. Prints one line of JSON when ready: `base`, `issuer`, `user`,
`otherUser`, `password`, `clients`. `POST /__rotate?overlap=0|1` signs with another key from now on and drops or
keeps the old one in the key set. `POST /__expire` expires all access tokens and pending device codes. `POST
/__forget` deletes the dynamically registered clients. GET /__log has the requests so far: method, path, status,
and their `resource`. SIGTERM ends the program.
"""
import datetime
import json
import signal
import sys
import tempfile
import threading
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

USER, OTHER_USER, PASSWORD = "alice", "bob", "correct horse battery"
CODE, DEVICE = "authorization-code", "urn:ietf:params:oauth:grant-type:device_code"
CLIENTS = {"native": ("public", CODE, ""), "second": ("public", CODE, ""), "basic": ("confidential", CODE, "s3cret: with/odd+chars"),
           "device": ("public", DEVICE, ""), "service": ("confidential", "client-credentials", "service-secret"),
           "hs256": ("confidential", CODE, "a secret of more than thirty-two bytes")}
MUST_NAME_RESOURCE = sys.argv[2:] == ["resources"]
LOG, LOCK = [], threading.Lock()


class Server(ThreadingMixIn, WSGIServer):
    """A server for many clients at once."""

    request_queue_size = 256
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def new_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


def configure(base, folder):
    sys.modules["oauth2_server"] = sys.modules[__name__]
    template = {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
        "context_processors": ["django.template.context_processors.request",
                               "django.contrib.auth.context_processors.auth"]}}
    settings.configure(
        DEBUG=False, SECRET_KEY="test", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF="oauth2_server", USE_TZ=True,
        LOGIN_URL="/login/", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", STATIC_URL="/static/",
        LOGGING_CONFIG=None, TEMPLATES=[template],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "db.sqlite3"),
                               "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"}}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
                        "oauth2_provider"],
        MIDDLEWARE=["oauth2_server.logged", "django.contrib.sessions.middleware.SessionMiddleware",
                    "django.middleware.csrf.CsrfViewMiddleware",
                    "django.contrib.auth.middleware.AuthenticationMiddleware"],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": new_key(), "OIDC_ISS_ENDPOINT": base + "/o",
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "SCOPES": {"openid": "OpenID", "profile": "Profile", "email": "E-mail", "photos": "Photos",
                       "introspection": "Introspection"},
            "ALLOWED_REDIRECT_URI_SCHEMES": ["http", "https", "einlass"], "ALLOWED_SCHEMES": ["http", "https"],
            "ACCESS_TOKEN_EXPIRE_SECONDS": 300, "REFRESH_TOKEN_EXPIRE_SECONDS": 86400,
            "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True, "PKCE_REQUIRED": True,
            "OAUTH_DEVICE_VERIFICATION_URI": base + "/o/device/", "DEVICE_FLOW_INTERVAL": 1,
            "OAUTH2_VALIDATOR_CLASS": "oauth2_server.Validator", "DCR_ENABLED": True,
            "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",)})
    django.setup()


def logged(get_response):
    """Logs each request, with the parameters that are not secret."""
    def handle(request):
        answer = get_response(request)
        if not request.path.startswith("/__"):
            sent = request.POST if request.method == "POST" else request.GET
            named = {name: sent[name] for name in ("resource", "grant_type") if name in sent}
            with LOCK:
                LOG.append({"method": request.method, "path": request.path, "status": answer.status_code, **named})
        return answer
    return handle


def fill_database():
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from oauth2_provider.models import get_application_model
    call_command("migrate", verbosity=0)
    user = get_user_model().objects.create_user(USER, "alice@example.test", PASSWORD, first_name="Alice",
                                                last_name="Example")
    get_user_model().objects.create_user(OTHER_USER, "bob@example.test", PASSWORD)
    for name, (kind, grant, secret) in CLIENTS.items():
        get_application_model().objects.create(
            client_id=name, name=name, user=user, client_type=kind, authorization_grant_type=grant,
            algorithm={"service": "", "hs256": "HS256"}.get(name, "RS256"), client_secret=secret,
            hash_client_secret=name != "hs256",
            redirect_uris="http://127.0.0.1/callback http://[::1]/callback einlass:/callback")


def sign_for_everybody():
    """Sets a signing algorithm for each registered client, because the library registers clients without one and then
    fails at a request for an id_token."""
    from django.db.models.signals import pre_save
    from oauth2_provider.models import get_application_model

    def choose(sender, instance, **more):
        instance.algorithm = instance.algorithm or ("" if instance.name == "service" else "RS256")
    pre_save.connect(choose, get_application_model(), weak=False)


def views():
    from django.contrib.auth.views import LoginView
    from django.http import HttpResponse, JsonResponse
    from django.middleware.csrf import get_token
    from django.urls import include, path
    from django.utils import timezone
    from django.utils.html import escape
    from django.views.decorators.csrf import csrf_exempt
    from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error
    from oauth2_provider.models import get_access_token_model, get_application_model, get_device_grant_model
    from oauth2_provider.oauth2_validators import OAuth2Validator
    from oauth2_provider.settings import oauth2_settings
    from oauth2_provider.urls import metadata_urlpatterns

    class Validator(OAuth2Validator):
        oidc_claim_scope = None

        def get_additional_claims(self, request):
            user = request.user
            return {"name": user.get_full_name(), "email": user.email, "preferred_username": user.username}

        def validate_scopes(self, client_id, scopes, client, request, *arguments, **more):
            named(request)
            return super().validate_scopes(client_id, scopes, client, request, *arguments, **more)

        def _check_and_set_request_resource(self, request):
            named(request)
            super()._check_and_set_request_resource(request)

    def named(request):
        if MUST_NAME_RESOURCE and not getattr(request, "resource", None):
            raise CustomOAuth2Error("invalid_target", request=request)

    class SignIn(LoginView):
        def render_to_response(self, context, **more):
            return HttpResponse(
                '<!doctype html><title>Sign in</title><form method="post">'
                f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(self.request)}">'
                f'<input type="hidden" name="next" value="{escape(self.get_redirect_url())}">'
                f'{context["form"].as_p()}<button id="signin">Sign in</button></form>')

    @csrf_exempt
    def rotate(request):
        old, oauth2_settings.OIDC_RSA_PRIVATE_KEY = oauth2_settings.OIDC_RSA_PRIVATE_KEY, new_key()
        oauth2_settings.OIDC_RSA_PRIVATE_KEYS_INACTIVE = [old] if request.GET["overlap"] == "1" else []
        return JsonResponse({})

    @csrf_exempt
    def expire(request):
        past = timezone.now() - datetime.timedelta(seconds=1)
        get_access_token_model().objects.update(expires=past)
        get_device_grant_model().objects.update(expires=past)
        for grant in get_device_grant_model().objects.all():
            grant.is_expired()  # the library marks the expiry only here, not in its token endpoint
        return JsonResponse({})

    @csrf_exempt
    def forget(request):
        get_application_model().objects.exclude(client_id__in=CLIENTS).delete()
        return JsonResponse({})

    def log(request):
        with LOCK:
            return JsonResponse(LOG, safe=False)

    globals()["Validator"] = Validator
    return [path("login/", SignIn.as_view()), path("__rotate", rotate), path("__expire", expire), path("__forget", forget), path("__log", log),
            path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
            path("", include((metadata_urlpatterns, "metadata")))]


def main(folder):
    server = Server(("127.0.0.1", int(sys.argv[1])), Quiet)
    base = "http://127.0.0.1:%d" % server.server_address[1]
    configure(base, folder)
    from django.core.wsgi import get_wsgi_application
    globals()["urlpatterns"] = views()
    sign_for_everybody()
    fill_database()
    server.set_app(get_wsgi_application())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"base": base, "issuer": base + "/o", "user": USER, "otherUser": OTHER_USER, "password": PASSWORD,
                      "clients": {name: secret for name, (_, _, secret) in CLIENTS.items()}}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="einlass-") as folder:
        main(Path(folder))
