"""Put a folder of this machine into a host's file system: `python -m tests.simcloud.hosted.graft SOURCE PID TARGET [ro]`, a process of its own, as it changes its namespace.

The kernel hands the mount over whole (open_tree(2), move_mount(2)): nothing of the machine is visible in the host but the folder itself. With a second process id before SOURCE's path
(`PID:PATH`) the folder is another host's.
"""

import ctypes
import os
import struct
import sys
from pathlib import Path

CLONE_NEWNS = 0x20000
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same on all processors
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH = 1, 4
MOUNT_ATTR_RDONLY, MS_PRIVATE = 1, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def graft(source: str, pid: int, target: str, *, read_only: bool) -> None:
    """Mount a folder at a path of the host whose first process is `pid`.

    Raises:
        OSError: the kernel refuses.
    """
    owner, _, path = source.rpartition(":")
    with Path(f"/proc/{pid}/ns/mnt").open("rb") as theirs:  # before the namespace with this /proc is left
        if owner:
            _enter(int(owner))
        tree = _called(OPEN_TREE, AT_FDCWD, path.encode(), OPEN_TREE_CLONE | os.O_CLOEXEC)
        attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", MOUNT_ATTR_RDONLY if read_only else 0, 0, MS_PRIVATE, 0))
        _called(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, attributes, 32)
        _set_namespace(theirs.fileno())
    _called(MOVE_MOUNT, tree, b"", AT_FDCWD, target.encode(), MOVE_MOUNT_F_EMPTY_PATH)


def _enter(pid: int) -> None:
    with Path(f"/proc/{pid}/ns/mnt").open("rb") as namespace:
        _set_namespace(namespace.fileno())


def _set_namespace(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), f"setns: {os.strerror(ctypes.get_errno())}")


def _called(number: int, *arguments: object) -> int:
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    graft(sys.argv[1], int(sys.argv[2]), sys.argv[3], read_only=sys.argv[4:] == ["ro"])
