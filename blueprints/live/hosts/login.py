"""Hosts that don't answer, have another key, or let nobody become root."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Sequence

from ... import finding, spec
from ...codes import Code
from .answers import Answer, Trouble
from .fault import Fault
from .subject import Subject

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING


def check(cluster: spec.ClusterSpec, subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Find hosts that can't be used as they are."""
    yield from _unreachable(subjects)
    user = cluster.site.user if cluster.site else ""
    for subject in subjects:
        answer, name = subject.answer, subject.name
        match answer.trouble:
            case Trouble.OTHER_KEY if not subject.host.host_key:
                yield _unknown_key(name)
            case Trouble.OTHER_KEY:
                yield _other_key(subject, answer)
            case Trouble.LOGIN_REFUSED:
                yield _refused(name, user, answer)
            case Trouble.WITHOUT_PYTHON:
                why = "adopting and configuring a host need /usr/bin/python3"
                remedy = "install it on {hosts}: `{login} sudo apt-get install --yes python3`, or a newer distribution"
                yield Fault(name, Code.HOST_WITHOUT_PYTHON, "no /usr/bin/python3 that is new enough", why, remedy, detail=answer.said)
            case Trouble.FAILED:
                what, why = (
                    "the SSH server answers, and the host says nothing",
                    "its login shell or Python failed, for example on a file server that is gone",
                )
                yield Fault(name, Code.HOST_SILENT, what, why, "look for the cause with `{login} /usr/bin/python3 -V`", detail=answer.said)
            case _:
                pass
        if answer.facts is not None and not answer.facts.is_root:
            yield _no_root(name, user, answer.facts.sudo)


def _unreachable(subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Decide by `nodes.min` of a pool whether `up` can go on without the hosts that are off, or that hang."""
    groups = {subject.group.name: subject for subject in subjects}
    for name, any_of in groups.items():
        members = [subject for subject in subjects if subject.group.name == name]
        off = [subject for subject in members if subject.answer.is_off]
        there, least = len(members) - len(off), any_of.node_set.reachable_min if any_of.node_set else None
        pool = any_of.node_set.pool if any_of.node_set else ""
        goes_on = least is not None and there >= least
        for subject in off:
            hangs = subject.answer.trouble is Trouble.HANGS
            start = "restart" if hangs else "switch on"
            if goes_on:
                why = f"`up` goes on without them: {there} of {len(members)} hosts of the pool {pool} answer, and `pools.{pool}.nodes.min` is {least}"
                remedy = f"{'restart them' if hangs else 'switch them on'} and run `clusterwright up` again, which adopts them"
            elif least is not None:
                why = f"{there} of {len(members)} hosts of the pool {pool} answer, and `pools.{pool}.nodes.min` is {least}"
                remedy = f"{start} enough of {{hosts}}, or write a lower `pools.{pool}.nodes.min`"
            elif pool:
                why = f"{there} of {len(members)} hosts of the pool {pool} answer, and `up` needs all of them"
                remedy = f"{start} {{hosts}}, or write `nodes: {{min: {max(there, 1)}, max: {any_of.group.count}}}` in the pool, and `up` goes on without them"
            else:
                why = f"`up` needs every {name} host before it changes anything"
                remedy = f"{start} {{hosts}}, or take them out of `{name}.hosts`"
            code, what = (Code.HOST_SILENT, "the SSH server answers, and the host hangs") if hangs else (Code.HOST_UNREACHABLE, "no SSH server answers")
            yield Fault(subject.name, code, what, why, remedy, _WARNING if goes_on else _ERROR, _said(subject))


def _said(subject: Subject) -> str:
    """Say what ssh(1) said, without the host's own name for grouping."""
    said = subject.answer.said.replace(subject.host.address, "the address")
    return said.removeprefix("ssh: ").rstrip(".\r\n") or "no answer"


def _unknown_key(name: str) -> Fault:
    what, why = "no SSH host key in the inventory", "nothing was asked of a host that can't prove that it is the one that you mean"
    remedy = "run `clusterwright lookup hosts {file} --write`: it reads the keys, and shows their fingerprints for you to confirm"
    return Fault(name, Code.HOST_KEY_MISSING, what, why, remedy)


def _other_key(subject: Subject, answer: Answer) -> Fault:
    pinned = fingerprint(subject.host.host_key)
    now = f"it has {answer.fingerprint} now" if answer.fingerprint else "it has keys of other types only now"
    why = "somebody reinstalled the host, its address belongs to another host, or somebody intercepts the connection"
    remedy = (
        f"compare on the host's console: `ssh-keygen -lf /etc/ssh/{key_file(subject.host.host_key)}`; "
        "where it is the same, remove the host's old key, and run `clusterwright lookup hosts {file} --write`, which writes the new one"
    )
    return Fault(subject.name, Code.HOST_KEY_CHANGED, "another SSH host key than in the inventory", why, remedy, detail=f"the inventory has {pinned}, {now}")


def _refused(name: str, user: str, answer: Answer) -> Fault:
    if any(word in answer.said for word in ("password", "keyboard-interactive")):
        what, why = f"the host asks for {user}'s password", f"no key that was offered may log in as {user}, and clusterwright types no passwords"
    else:
        what, why = f"the host refuses the login of {user}", "no key that was offered may log in"
    remedy = "install your public key, for example with `ssh-copy-id`, until `{login} true` works without a question; `inventory.identity` names another key"
    return Fault(name, Code.LOGIN_REFUSED, what, why, remedy, detail=answer.said.rpartition(": ")[2].rstrip("."))


def _no_root(name: str, user: str, said: str) -> Fault:
    why = "the host is configured as root, and clusterwright types no passwords"
    file = f"/etc/sudoers.d/90-{user}"
    line = f"echo '{user} ALL=(ALL) NOPASSWD:ALL' | sudo tee {file}"
    if said == "missing":
        remedy = f"install sudo on {{hosts}} and allow it: `apt-get install --yes sudo`, then `{line}` as root"
        return Fault(name, Code.SUDO_REFUSED, "there is no sudo", why, remedy)
    remedy = f"log in with `{{login}}` and run `{line}`"
    return Fault(name, Code.SUDO_REFUSED, f"{user} may not become root without a password", why, remedy, detail=said.splitlines()[-1] if said else "")


def fingerprint(key: str) -> str:
    """Give the fingerprint of a public key as ssh-keygen(1) prints it; empty for what is no key."""
    words = key.split()
    try:
        body = base64.b64decode(words[1], validate=True)
    except (IndexError, binascii.Error):
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(body).digest()).decode().rstrip("=")


def offered_fingerprint(said: str) -> str:
    """Find the fingerprint of the key that a host offered in what ssh(1) said about a changed key; empty: it names none. Pure."""
    found = re.search(r"sent by the remote host is\s+(SHA256:[A-Za-z0-9+/]+)", said)
    return found[1] if found else ""


def key_file(key: str) -> str:
    """Name the file of a host key of this type (sshd_config(5), HostKey)."""
    kind = key.split(maxsplit=1)[0] if key.strip() else ""
    name = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}.get(kind, "ecdsa" if kind.startswith("ecdsa") else "ed25519")
    return f"ssh_host_{name}_key.pub"
