"""The promises of a release, as lists of faults."""
import base64
import csv
import hashlib
import io
import json
import re
import subprocess
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PROGRAMS = ("einlass", "einlassctl", "einlass-sandbox")
HELPERS = ("git", "headers", "kubernetes", "cargo", "docker", "bazel")
GLIBC = (2, 34)
ELF = b"\x7fELF"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def newer_symbols(program, limit=GLIBC):
    """The needs of a program beyond this version of glibc."""
    names = set(re.findall(r"Name: GLIBC_(\S+)", output("readelf", "--wide", "-V", program)))
    return sorted(name for name in names if name == "ABI_DT_RELR" or tuple(map(int, name.split("."))) > limit)


def unsigned(folder, signers):
    """The faults of the sums and of their signature, and the files without a sum."""
    faults = []
    with open(folder / "SHA256SUMS") as sums:
        check = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "einlass", "-n", "file", "-s"]
        done = subprocess.run([*check, folder / "SHA256SUMS.sig"], stdin=sums, capture_output=True, text=True)
    if done.returncode:
        faults.append("the signature of SHA256SUMS is wrong")
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    for path in sorted(folder.iterdir()):
        if path.name not in ("SHA256SUMS", "SHA256SUMS.sig") and sums.pop(path.name, "") != digest(path).hex():
            faults.append(f"{path.name} has no sum, or another one")
    return faults + [f"{name} is missing" for name in sums]


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


def differences(one, other, but=()):
    """The files of two folders that are not in both, byte for byte."""
    files = [{path.name: digest(path) for path in folder.iterdir() if path.name not in but} for folder in (one, other)]
    return sorted(name for name in files[0].keys() | files[1].keys() if files[0].get(name) != files[1].get(name))


def expected_of_wheel(version):
    """The files of a wheel but for man pages, as patterns."""
    data, info = rf"einlass-{version}\.data", rf"einlass-{version}\.dist-info"
    client = "|".join(re.escape(path.name) for path in (PROJECT / "clients/python/einlass").iterdir() if path.is_file())
    scripts = "|".join((*PROGRAMS, *(f"{kind}-credential-einlass" for kind in HELPERS)))
    share = (r"man/man1/(einlass|einlassctl(-[a-z]+)*|[a-z]+-credential-einlass)\.1\.gz"
             r"|bash-completion/completions/einlassctl|zsh/site-functions/_einlassctl"
             r"|fish/vendor_completions\.d/einlassctl\.fish")
    return [rf"einlass/({client})", rf"{data}/scripts/({scripts})", rf"{data}/data/share/({share})",
            rf"{info}/(METADATA|WHEEL|RECORD|LICENSE|entry_points\.txt)"]


def faults_of_wheel(path):
    version = path.name.split("-")[1]
    faults, list_of_files = [], "|".join(expected_of_wheel(version))
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        faults += [f"{name} is outside the list" for name in names if not re.fullmatch(list_of_files, name)]
        scripts = f"einlass-{version}.data/scripts/"
        for program in PROGRAMS:
            start = wheel.read(scripts + program)[:4]
            if start != ELF:
                faults.append(f"{program} is a script")
        for kind in HELPERS:
            lines = wheel.read(f"{scripts}{kind}-credential-einlass").decode().splitlines()
            if len(lines) != 2 or lines[0] != "#!/bin/sh" or not lines[1].startswith("exec "):
                faults.append(f"{kind}-credential-einlass is no script of two lines")
        for member in wheel.infolist():
            is_program = member.filename.startswith(scripts)
            if member.external_attr >> 16 != (0o100755 if is_program else 0o100644):
                faults.append(f"{member.filename} has another mode")
        recorded = {}
        for name, value, _ in csv.reader(io.StringIO(wheel.read(f"einlass-{version}.dist-info/RECORD").decode())):
            recorded[name] = value
        for name in names:
            value = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).decode().rstrip("=")
            if recorded.get(name) not in ("", f"sha256={value}"):
                faults.append(f"{name} is not recorded")
    return faults


def faults_of_parts(document, programs):
    """The shared libraries of the programs that the list of parts does not name, and hashes of other programs."""
    document = json.loads(Path(document).read_text())
    packages = {one["name"]: one for one in document["packages"]}
    library_of = {"libsqlite3": "sqlite", "libc": "glibc", "libm": "glibc", "ld-linux-x86-64": "glibc",
                  "ld-linux-aarch64": "glibc"}
    faults = []
    for program in PROGRAMS:
        for library in re.findall(r"\(NEEDED\).*\[([^.]*)", output("readelf", "-d", programs / program)):
            if library_of.get(library) not in packages:
                faults.append(f"{program} needs {library}, which is not listed")
        sums = packages.get(program, {}).get("checksums", [{}])
        if sums[0].get("checksumValue") != digest(programs / program).hex():
            faults.append(f"{program} is another one")
    return faults
