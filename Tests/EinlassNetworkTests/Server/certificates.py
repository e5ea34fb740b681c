"""The certificates of the hostile server: good ones, and such that nobody may accept. Made by `openssl`."""
import base64
import os
import re
import ssl
import subprocess

HERE = "DNS:localhost,IP:127.0.0.1"
PAST, LONG_AGO, FUTURE, FAR = "20200101000000Z", "20210101000000Z", "20980101000000Z", "20991231235959Z"
RSA = ["-newkey", "rsa:2048"]
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]

# Name: what differs from a good one. `renamed`: what is put for the `!` in its names, which `openssl` would not take.
CERTIFICATES = {
    "good": {},
    "expired": {"end": LONG_AGO},
    "notYet": {"start": FUTURE},
    "wrongHost": {"hosts": "DNS:elsewhere.test"},
    "wrongAddress": {"hosts": "DNS:localhost,IP:127.0.0.2"},
    "unknownAuthority": {"authority": "stranger"},
    "rsa": {"key": RSA},
    "shortKey": {"key": ["-newkey", "rsa:1024"]},
    "sha1": {"digest": "sha1"},
    "chained": {"authority": "newAuthority"},
    "sha1Authority": {"authority": "oldAuthority"},
    "renamed": {"hosts": "DNS:localhos!", "renamed": b"t"},
    "nulInName": {"hosts": "DNS:localhost!.elsewhere.test", "renamed": b"\0"},
    "renamedCommonName": {"common": "localhos!", "hosts": None, "renamed": b"t"},
    "nulInCommonName": {"common": "localhost!.elsewhere.test", "hosts": None, "renamed": b"\0"},
}

CONFIGURATION = """
[ca]
default_ca = a
[a]
dir = .
database = index.txt
new_certs_dir = .
serial = serial
policy = p
copy_extensions = copy
unique_subject = no
[p]
commonName = supplied
[req]
distinguished_name = n
string_mask = utf8only
[n]
[v3_ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
"""


def make(folder):
    """Makes all of them in this folder; their names."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    def request(name, key, common, *more):
        openssl("req", *key, "-nodes", "-config", "ca.cnf", "-keyout", name + ".key", "-subj", "/CN=" + common, *more)

    def sign(name, authority, digest="sha256", start=PAST, end=FAR, *more):
        openssl("ca", "-batch", "-config", "ca.cnf", "-cert", authority + ".pem", "-keyfile", authority + ".key",
                "-in", name + ".csr", "-out", name + ".pem", "-notext", "-md", digest, "-startdate", start,
                "-enddate", end, *more)

    for name, content in (("ca.cnf", CONFIGURATION), ("index.txt", ""), ("serial", "1000\n")):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    for name in ("authority", "stranger"):
        request(name, CURVE, name, "-x509", "-out", name + ".pem", "-days", "30", "-extensions", "v3_ca")
    for name, digest in (("newAuthority", "sha256"), ("oldAuthority", "sha1")):
        request(name, CURVE, name, "-out", name + ".csr")
        sign(name, "authority", digest, PAST, FAR, "-extensions", "v3_ca")
    for name, what in CERTIFICATES.items():
        hosts = what.get("hosts", HERE)
        names = ["-addext", "subjectAltName=" + hosts] if hosts else []
        request(name, what.get("key", CURVE), what.get("common", name), "-out", name + ".csr", *names)
        authority = what.get("authority", "authority")
        sign(name, authority, what.get("digest", "sha256"), what.get("start", PAST), what.get("end", FAR))
        if "renamed" in what:
            rename(folder, name, what["renamed"], openssl)
        if authority.endswith("Authority"):
            with open(os.path.join(folder, name + ".pem"), "a") as file, \
                    open(os.path.join(folder, authority + ".pem")) as chain:
                file.write(chain.read())
    request("selfSigned", CURVE, "localhost", "-x509", "-out", "selfSigned.pem", "-days", "30",
            "-addext", "subjectAltName=" + HERE)
    openssl("pkey", "-in", "good.key", "-aes256", "-passout", "pass:secret", "-out", "encrypted.key")
    return [*CERTIFICATES, "selfSigned"]


def rename(folder, name, byte, openssl):
    """Puts a byte for the `!` behind `localhos` or `localhost` in the names of a certificate, and signs it anew."""
    path = os.path.join(folder, name)
    with open(path + ".pem") as file:
        certificate = base64.b64decode("".join(line for line in file if "-" not in line))
    _, inside, _ = element(certificate)
    signed, _, rest = element(inside)
    algorithm, _, _ = element(rest)
    renamed = re.sub(rb"(?<=localhos)!|(?<=localhost)!", lambda _: byte, signed)
    assert renamed != signed
    with open(path + ".signed", "wb") as file:
        file.write(renamed)
    openssl("dgst", "-sha256", "-sign", "authority.key", "-out", name + ".signature", name + ".signed")
    with open(path + ".signature", "rb") as signature:
        content = renamed + algorithm + wrapped(0x03, b"\0" + signature.read())
    with open(path + ".pem", "w") as file:
        file.write(ssl.DER_cert_to_PEM_cert(wrapped(0x30, content)))


def element(data):
    """The first element of DER, what is in it, and what follows."""
    start, length = 2, data[1]
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    return data[:start + length], data[start:start + length], data[start + length:]


def wrapped(tag, content):
    """An element of DER."""
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def context(folder, name, old=False):
    """What a server with this certificate needs; itself it minds no weakness."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    if old:
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.load_cert_chain(os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key"))
    return context


def demanding(folder, version):
    """The same for a server that demands a certificate of the authority from its clients."""
    demanding = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    demanding.minimum_version = demanding.maximum_version = version
    demanding.load_cert_chain(os.path.join(folder, "good.pem"), os.path.join(folder, "good.key"))
    demanding.load_verify_locations(os.path.join(folder, "authority.pem"))
    demanding.verify_mode = ssl.CERT_REQUIRED
    return demanding
