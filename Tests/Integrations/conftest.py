import json
import os
import ssl
import subprocess

import pytest

from house import CONTROL, EINLASS, SANDBOX, House


@pytest.fixture(autouse=True, scope="session")
def built():
    for program in (EINLASS, CONTROL, SANDBOX):
        if not os.access(program, os.X_OK):
            pytest.fail(f"{program} is not built. Tests/run --only integrations builds it.")


@pytest.fixture
def ready():
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def house(tmp_path, ready):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return House(folder, ready)


@pytest.fixture
def certificate(house):
    """A certificate for 127.0.0.1 and its key."""
    certificate, key = str(house.folder / "tls.pem"), str(house.folder / "tls.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def tls(certificate):
    """The certificate, and the context of a server with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return certificate[0], context
