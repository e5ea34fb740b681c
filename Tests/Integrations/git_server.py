"""A git server for clients/quickstart: git http-backend behind a check of each token at the provider.

    git_server.py USERINFO FOLDER

Prints the address of a repository in FOLDER, and serves it until standard input ends.
"""
import subprocess
import sys
from pathlib import Path

from house import git_backend, open_gate


def repository(folder):
    work = Path(folder) / "hello"
    work.mkdir(parents=True)
    (work / "README").write_text("Hello from a repository that only your token opens.\n")
    ada = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q"], ["add", "."], [*ada, "commit", "-qm", "hello"], ["clone", "-q", "--bare", ".", "../hello.git"]):
        subprocess.run(["git", *command], cwd=work, check=True)
    return folder


def main(userinfo, folder):
    with open_gate(userinfo, git_backend(repository(folder))) as gate:
        print(gate.address, flush=True)
        sys.stdin.read()


main(*sys.argv[1:])
