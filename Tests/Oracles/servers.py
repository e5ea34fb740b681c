"""Starts the servers of this folder."""
import contextlib
import json
import os
import subprocess
import sys

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
