"""A network namespace with a network cable: a pair of virtual interfaces, one of which has the default route."""
import os
import shutil
import subprocess

import pytest


class Cable:
    """A machine with an interface `near`, its cable to `far`, and nothing else but loopback. Nothing leaves it."""

    def __init__(self):
        if not shutil.which("ip") or not shutil.which("nsenter"):
            pytest.skip("the programs ip and nsenter are needed to make a network")
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        self.holder = subprocess.Popen(["unshare", *user, "--net", "sh", "-c", "echo; exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        enter = ["--user", "--preserve-credentials"] if user else []
        # The beginning of the command line of a program on this machine.
        self.inside = ["nsenter", "--target", str(self.holder.pid), "--net", *enter]
        pair = ["ip", "link", "add", "near", "type", "veth", "peer", "name", "far"]
        made = self.holder.stdout.readline() and self.run(*pair)
        if not made or made.returncode:
            self.close()
            pytest.skip("no network namespace with interfaces may be made here")
        # Without addresses that IPv6 makes by itself, nothing changes later by itself.
        self.ip("link set near addrgenmode none", "link set far addrgenmode none", "link set lo up", "link set far up",
                "link set near up", "address add 192.0.2.1/24 dev near", "route add default via 192.0.2.2")

    def run(self, *command, **more):
        return subprocess.run([*self.inside, *command], capture_output=True, text=True, **more)

    def ip(self, *commands):
        """Runs commands of ip(8) in one process."""
        done = self.run("ip", "-batch", "-", input="".join(command + "\n" for command in commands))
        assert done.returncode == 0, done.stderr

    def pull(self):
        self.ip("link set far down")

    def plug(self):
        self.ip("link set far up")

    def close(self):
        """Ends the machine, when its last program has ended too."""
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()
