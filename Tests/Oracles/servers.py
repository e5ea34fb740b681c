"""Starts the servers of this folder."""
import contextlib
import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


@contextlib.contextmanager
def running(name, *arguments):
    """Starts a server and yields its line of JSON. The server must exit with code 0 after the block."""
    with subprocess.Popen([sys.executable, os.path.join(HERE, name), "0", *arguments], stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
    assert process.returncode == 0


def log(ready):
    """Returns the method and the path of each request that the server has received."""
    with urllib.request.urlopen(ready["base"] + "/__log") as answer:
        return [(entry["method"], urllib.parse.urlsplit(entry["path"]).path) for entry in json.load(answer)]


def tell(ready, what):
    """Changes the server by a request to one of its control addresses."""
    urllib.request.urlopen(urllib.request.Request(ready["base"] + what, b"", method="POST")).close()
