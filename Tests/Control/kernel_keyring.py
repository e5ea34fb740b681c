"""The user keyring of the kernel, where `einlassctl store unlock` keeps a secret, and programs without it.

    python kernel_keyring.py COMMAND...    runs a command to which the kernel refuses keyrings, as in most containers
"""
import ctypes
import errno
import os
import platform
import sqlite3
import struct
import sys

ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine(), (-1, -1))
THREAD, SESSION, USER = -1, -3, -4
JOIN_SESSION, DESCRIBE, UNLINK, SEARCH, READ, INVALIDATE = 1, 6, 9, 10, 11, 21
LIBC = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = LIBC.syscall(number, *(ctypes.c_long(value) if isinstance(value, int) else value for value in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def refused():
    """Why there is no keyring here; None if there is one."""
    try:
        call(KEYCTL, UNLINK, call(ADD_KEY, b"user", b"einlass-test", b"-", 1, THREAD), THREAD)
    except OSError as problem:
        return f"skipped: the kernel refuses keyrings here ({problem.strerror})"
    return None


def name_of(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return "einlass-store:" + connection.execute("SELECT store FROM meta").fetchone()[0]


def kept(database):
    """Returns the number of the key that the kernel keeps for this store; None without one."""
    try:
        return call(KEYCTL, SEARCH, USER, b"user", name_of(database).encode(), 0)
    except OSError as problem:
        assert problem.errno in (errno.ENOKEY, errno.EKEYEXPIRED, errno.EKEYREVOKED), problem
        return None


def permissions(database):
    """Returns the permissions of that key, as hexadecimal digits: possessor, user, group, others."""
    key = call(KEYCTL, SEARCH, USER, b"user", name_of(database).encode(), THREAD)
    try:
        text = ctypes.create_string_buffer(200)
        call(KEYCTL, DESCRIBE, key, text, 200)
    finally:
        call(KEYCTL, UNLINK, key, THREAD)
    return text.value.decode().split(";")[3]


def read(key):
    buffer = ctypes.create_string_buffer(100)
    return buffer.raw[:call(KEYCTL, READ, key, buffer, 100)]


def forget(database):
    """Leaves nothing behind in the keyring of the person who runs the tests."""
    if os.path.exists(database) and (key := kept(database)):
        call(KEYCTL, INVALIDATE, key)


def join_new_session():
    """Takes the user keyring out of the reach of the session, as in a service of systemd."""
    call(KEYCTL, JOIN_SESSION, None)


def refuse_keyrings():
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    load, equals, answer = 0x20, 0x15, 0x06
    program = [(load, 0, 0, 0), (equals, 1, 0, ADD_KEY), (equals, 0, 1, KEYCTL), (answer, 0, 0, refuse), (answer, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    filters = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    for arguments in ((38, 1, 0), (22, 2, filters)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        assert LIBC.prctl(*arguments, 0, 0) == 0, os.strerror(ctypes.get_errno())


if __name__ == "__main__":
    refuse_keyrings()
    os.execv(sys.argv[1], sys.argv[1:])
