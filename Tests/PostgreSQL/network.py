"""Two network namespaces with a cable between them, so that packets can be lost without a word."""
import os
import shutil
import subprocess

import pytest

NEAR, FAR = "192.0.2.1", "192.0.2.2"


class Namespace:
    def __init__(self):
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        self.holder = subprocess.Popen(["unshare", *user, "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.is_there = bool(self.holder.stdout.readline())
        # The beginning of the command line of a program there.
        self.inside = ["nsenter", "--target", str(self.holder.pid), "--net", *(["--user", "--preserve-credentials"] if user else [])]

    def ip(self, *commands):
        done = subprocess.run([*self.inside, "ip", "-batch", "-"], input="".join(command + "\n" for command in commands),
                              capture_output=True, text=True)
        return done.returncode == 0

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()


class Network:
    """Yields `near`, where einlass runs, and `far`, where the server runs."""

    def __init__(self):
        if os.geteuid() or not shutil.which("ip") or not shutil.which("nsenter"):
            pytest.skip("skipped: two network namespaces need root, and the programs ip and nsenter")
        self.near, self.far = Namespace(), Namespace()
        made = self.near.is_there and self.far.is_there and self.near.ip(
            "link add near type veth peer name far", f"link set far netns {self.far.holder.pid}", "link set lo up",
            "link set near up", f"address add {NEAR}/24 dev near") and self.far.ip(
            "link set lo up", "link set far up", f"address add {FAR}/24 dev far")
        if not made:
            self.close()
            pytest.skip("skipped: no network namespace with interfaces may be made here")

    def lose(self):
        """From now on every packet between the two is lost, and nobody is told."""
        assert self.far.ip("link set far arp off", "address flush dev far") and self.far.ip("route add blackhole default")

    def heal(self):
        assert self.far.ip("route del blackhole default", "link set far arp on", f"address add {FAR}/24 dev far")

    def close(self):
        self.near.close()
        self.far.close()
