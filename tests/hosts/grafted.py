"""Show a folder of this machine inside of a host, under the same name: with it a host can run the project's own programs as an administrator's machine does."""

import ctypes
import os
from pathlib import Path

AT_FDCWD = -100
OPEN_TREE = 428  # <asm/unistd.h>, the same on all architectures
MOVE_MOUNT = 429
OPEN_TREE_CLONE = 1  # <linux/mount.h>
AT_RECURSIVE = 0x8000
MOVE_MOUNT_F_EMPTY_PATH = 4
CLONE_NEWNS = 0x20000

_libc = ctypes.CDLL(None, use_errno=True)


def graft(folder: Path, *, guest: int) -> None:
    """Mount a folder, which exists there as an empty one, in the mount namespace of process `guest`.

    A child does it, as a process can't come back from another namespace with its own root.
    """
    tree = _called(OPEN_TREE, AT_FDCWD, os.fsencode(folder), OPEN_TREE_CLONE | AT_RECURSIVE)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            namespace, root = os.open(f"/proc/{guest}/ns/mnt", os.O_RDONLY), os.open(f"/proc/{guest}/root", os.O_RDONLY)
            if _libc.setns(namespace, CLONE_NEWNS) == 0:
                os.fchdir(root)
                os.chroot(".")
                _called(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(folder), MOVE_MOUNT_F_EMPTY_PATH)
                status = 0
        finally:
            os._exit(status)
    os.close(tree)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, f"{folder} could not be mounted there"


def _called(number: int, *arguments: int | bytes) -> int:
    answer: int = _libc.syscall(number, *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
