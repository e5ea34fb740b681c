"""Logins with a user name and a password that start a session: Flask-Security, with its own JSON pages.

    pip install -r requirements.txt
    python session_server.py PORT [--csrf] [--tls CERTIFICATE KEY]        (PORT 0 = any)

The library implements the login, the cookie and the token against forged requests; this file has settings, users and
the log. With `--csrf` the library requires its token as the header X-CSRF-Token. With `--tls` the server presents the
certificate of these files.

  POST   /login                                  user name and password; a cookie, or 400
  GET    /login                                  the token against forged requests
  POST   /logout                                 ends the person's sessions
  GET    /me                                     the person by the cookie, or 401

The wire of another product, with the library's check of the password and a session without cookies:
  POST   /csdk-sample/SDK/login                  user name and password; the session's id, or 401
  GET    /csdk-sample/SDK/login                  the person by the header X-Session, or 401
  DELETE /csdk-sample/SDK/login/id/{sessionid}   ends the session

Prints one line of JSON when ready: `base`, `log`, `user`, `otherUser`, `password`. `POST /__end` ends all sessions.
GET /__log has the requests so far: method, path, status, and the names of the cookies that were sent. SIGTERM ends the
program.
"""
import argparse
import json
import secrets
import signal
import ssl
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import flask_wtf
from flask import Flask, jsonify, request
from flask_login import user_logged_out
from flask_security import Security, SQLAlchemyUserDatastore, auth_required, current_user, hash_password
from flask_security.models import fsqla_v3
from flask_sqlalchemy import SQLAlchemy

USER, OTHER_USER, PASSWORD = "alice", "carol", "correct horse battery"
WIRE = "/csdk-sample/SDK/login"
LOG, LOCK = [], threading.Lock()
SESSIONS = {}  # of the wire without cookies: a user name for each id


class Server(ThreadingMixIn, WSGIServer):
    """A server for many clients at once. Each client's thread does its TLS handshake."""

    request_queue_size = 256
    daemon_threads = True
    certificates = None

    def get_request(self):
        connection, address = super().get_request()
        if self.certificates:
            connection = self.certificates.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        # A client that refuses the certificate is no fault of the server.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def settings(port, options):
    made = {
        "SECRET_KEY": secrets.token_hex(16), "SESSION_COOKIE_NAME": f"session_{port}", "SESSION_COOKIE_SAMESITE": "Lax",
        "SESSION_COOKIE_SECURE": bool(options.tls), "SQLALCHEMY_DATABASE_URI": "sqlite://",
        "SECURITY_PASSWORD_SALT": "test", "SECURITY_PASSWORD_HASH": "plaintext",
        "SECURITY_PASSWORD_SCHEMES": ["plaintext"], "SECURITY_PASSWORD_SINGLE_HASH": {"plaintext"},
        "SECURITY_USERNAME_ENABLE": True, "SECURITY_EMAIL_VALIDATOR_ARGS": {"check_deliverability": False},
        "SECURITY_RETURN_GENERIC_RESPONSES": True, "WTF_CSRF_ENABLED": options.csrf, "WTF_CSRF_CHECK_DEFAULT": False}
    if options.csrf:
        made.update(SECURITY_CSRF_PROTECT_MECHANISMS=["session", "basic"], SECURITY_CSRF_IGNORE_UNAUTH_ENDPOINTS=False)
    return made


def application(port, options):
    app = Flask(__name__)
    app.config.update(settings(port, options))
    if options.csrf:
        flask_wtf.CSRFProtect(app)
    db = SQLAlchemy(app)
    fsqla_v3.FsModels.set_db_info(db)

    class Role(db.Model, fsqla_v3.FsRoleMixin):
        pass

    class User(db.Model, fsqla_v3.FsUserMixin):
        pass

    users = SQLAlchemyUserDatastore(db, User, Role)
    app.security = Security(app, users)

    def end(user):
        """Ends the cookie sessions of a user, because the library keeps no list of them."""
        users.set_uniquifier(user)
        users.commit()

    # The receiver is kept by the application, because the signal refers to it weakly.
    app.when_logged_out = lambda sender, user, **more: end(user)
    user_logged_out.connect(app.when_logged_out, app)

    @app.after_request
    def logged(answer):
        if not request.path.startswith("/__"):
            with LOCK:
                LOG.append({"method": request.method, "status": answer.status_code, "cookies": sorted(request.cookies),
                            # The rule instead of the path, which may contain a session's id.
                            "path": str(request.url_rule or request.path)})
        return answer

    @app.get("/me")
    @auth_required("session")
    def me():
        return jsonify(username=current_user.username)

    @app.post(WIRE)
    def start():
        user = users.find_user(username=request.json["username"])
        if user is None or not user.verify_and_update_password(request.json["password"]):
            return jsonify(error="refused"), 401
        session = secrets.token_hex(16)
        SESSIONS[session] = user.username
        return jsonify(sessionid=session, voiceUser=user.username, voiceDomain="voice.example.test", id=user.id)

    @app.get(WIRE)
    def person():
        username = SESSIONS.get(request.headers.get("X-Session"))
        return (jsonify(username=username), 200) if username else (jsonify(error="no session"), 401)

    @app.delete(WIRE + "/id/<session>")
    def stop(session):
        return jsonify({}), 200 if SESSIONS.pop(session, None) else 404

    @app.post("/__end")
    def end_all():
        SESSIONS.clear()
        for user in User.query.all():
            end(user)
        return jsonify({})

    @app.get("/__log")
    def log():
        with LOCK:
            return jsonify(LOG)

    with app.app_context():
        db.create_all()
        for username in (USER, OTHER_USER):
            users.create_user(email=username + "@example.test", username=username, password=hash_password(PASSWORD))
        users.commit()
    return app


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--csrf", action="store_true")
    parser.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"))
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Quiet)
    port = server.server_address[1]
    if options.tls:
        server.certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.certificates.load_cert_chain(*options.tls)
    server.set_app(application(port, options))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    base = "%s://127.0.0.1:%d" % ("https" if options.tls else "http", port)
    print(json.dumps({"base": base, "log": base + "/__log", "user": USER, "otherUser": OTHER_USER,
                      "password": PASSWORD}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
