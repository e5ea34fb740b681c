"""TLS with a private authority, for a server with the name of another machine."""
import shutil

from cluster import give
from nginx import Authority

HOST = "db.example.org"
PASSWORD = "pass:word-of-einlass"


class House:
    """A server with a certificate, and the files of its clients."""

    def __init__(self, cluster, folder, hostaddr="127.0.0.1"):
        folder.chmod(0o700)
        for name in ("authority", "strange"):
            (folder / name).mkdir(mode=0o700)
        self.authority, self.stranger = Authority(folder / "authority"), Authority(folder / "strange", "stranger")
        server = self.authority.client(HOST, file="server", host=HOST)
        self.client = self.authority.client("certified")
        self.cluster, self.hostaddr = cluster, hostaddr
        for path in (server.path, server.key, self.authority.path):
            shutil.copy(path, self.cluster.folder)
            give(self.cluster.folder / path.name)
        self.cluster.set(ssl="on", ssl_cert_file=self.cluster.folder / "server.pem",
                         ssl_key_file=self.cluster.folder / "server.key", ssl_ca_file=self.cluster.folder / "authority.pem")
        self.cluster.reload()
        self.cluster.sql("CREATE ROLE certified LOGIN", "GRANT CREATE ON DATABASE einlass TO certified",
                         f"ALTER ROLE einlass PASSWORD '{PASSWORD}'")
        self.passwords = folder / "passwords"
        self.passwords.touch(0o600)
        self.passwords.write_text(f"{HOST}:*:einlass:einlass:{PASSWORD.replace(':', chr(92) + ':')}\n")
        self.by_certificate = {"sslcert": self.client.path, "sslkey": self.client.key}

    def address(self, store, role="einlass", host=HOST, authority=None, **more):
        return self.cluster.address(store, role=role, host=host, hostaddr=self.hostaddr,
                                    sslrootcert=(authority or self.authority).path, **more)
