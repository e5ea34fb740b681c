"""nginx, as the TLS front of a server of this folder, and the certificates of its clients."""
import contextlib
import datetime
import hashlib
import ipaddress
import os
import shutil
import socket
import ssl
import subprocess

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mutual_tls_server import b64

PROGRAM = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
WHY_NOT = None if PROGRAM else "skipped: there is no nginx"

# The fronts, by their setting for the client's certificate.
MANNERS = {"optional": "optional", "required": "on", "any": "optional_no_ca"}
CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  ssl_certificate {folder}/localhost.pem;
  ssl_certificate_key {folder}/localhost.key;
  ssl_client_certificate {folder}/authority.pem;
  proxy_set_header X-Verify $ssl_client_verify;
  proxy_set_header X-Certificate $ssl_client_escaped_cert;
  proxy_set_header X-Subject $ssl_client_s_dn;
  {servers}
}}
"""
SERVER = """server {{ listen 127.0.0.1:{port} ssl; ssl_verify_client {manner}; location / {{ proxy_pass {behind}; }} }}
"""


class Authority:
    """A private authority, and files of the certificates that it has signed."""

    def __init__(self, folder, name="authority"):
        self.folder, self.name = folder, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self.signed(name, self.key, is_authority=True)
        self.path = self.write(name, self.certificate, self.key)

    def signed(self, name, key, ends=None, by=None, is_authority=False, host="localhost"):
        def named(text):
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])
        now = datetime.datetime.now(datetime.timezone.utc)
        hosts = [x509.DNSName(host)]
        if host == "localhost":
            hosts.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        certificate = x509.CertificateBuilder(
            named(self.name if by is None else name), named(name), key.public_key(), x509.random_serial_number(),
            now - datetime.timedelta(days=2), ends or now + datetime.timedelta(days=2))
        certificate = certificate.add_extension(x509.BasicConstraints(is_authority, None), True)
        if not is_authority:
            certificate = certificate.add_extension(x509.SubjectAlternativeName(hosts), False)
        return certificate.sign(by or self.key, hashes.SHA256())

    def write(self, name, certificate, key):
        path = self.folder / (name + ".pem")
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        secret = self.folder / (name + ".key")
        secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                             serialization.NoEncryption()))
        secret.chmod(0o600)
        return path

    def client(self, name, is_self_signed=False, file=None, ends=None, host="localhost"):
        """Returns a client, or a server on this host, with a new certificate for this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.signed(name, key, ends=ends, by=key if is_self_signed else None, host=host)
        return Client(self.write(file or name, certificate, key), certificate)


class Client:
    def __init__(self, path, certificate):
        self.path, self.key = path, path.with_suffix(".key")
        self.thumbprint = b64(hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).digest())

    @property
    def parts(self):
        """The members of a registration."""
        return {"certificate": self.path.read_text(), "privateKey": self.key.read_text()}


@contextlib.contextmanager
def listening():
    """Yields sockets for each manner. nginx inherits them, so their ports cannot be taken by another program."""
    with contextlib.ExitStack() as stack:
        sockets = {}
        for name in MANNERS:
            sockets[name] = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
        yield sockets


@contextlib.contextmanager
def front(folder, sockets, behind):
    """Runs nginx before a server, and yields the address of each manner."""
    ports = {name: listener.getsockname()[1] for name, listener in sockets.items()}
    servers = "  ".join(SERVER.format(port=ports[name], manner=MANNERS[name], behind=behind) for name in ports)
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, servers=servers))
    numbers = [listener.fileno() for listener in sockets.values()]
    with subprocess.Popen([PROGRAM, "-p", str(folder), "-e", "stderr", "-c", str(configuration)], pass_fds=numbers,
                          env={**os.environ, "NGINX": "".join(f"{number};" for number in numbers)}) as process:
        try:
            # Before it serves, a signal would end it with another code than 0.
            with socket.create_connection(("127.0.0.1", ports["optional"])) as connection:
                ssl.create_default_context(cafile=folder / "authority.pem").wrap_socket(
                    connection, server_hostname="localhost").close()
            yield {name: f"https://127.0.0.1:{port}" for name, port in ports.items()}
        finally:
            process.terminate()
    assert process.returncode == 0
