"""Servers with things of their own are adopted, configured and released: everything is as it was, and what their owner changed meanwhile stays."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.metal.guest.adoption import FOLDER, MARK
from tests.hosts import plain
from tests.hosts.comparison import Described, described, differences
from tests.hosts.deployment import UP_WITHIN_S, deployment
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

CONTROL, LOGIN, NODE = "head-1", "login-1", "gpu-001"
HOME = "/home"
SOFTWARE = {"trixie": "debian-13", "bookworm": "debian-12", "noble": "ubuntu-24.04"}
OWN = r"""
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq --yes --no-install-recommends install jq bc >/dev/null
apt-mark hold bc >/dev/null
useradd --create-home --shell /bin/bash --groups sudo carol
echo 'carol ALL=(ALL) NOPASSWD: /usr/bin/less' >/etc/sudoers.d/carol
chmod 0440 /etc/sudoers.d/carol
echo '0 3 * * * root /usr/local/bin/backup' >/etc/cron.d/backup
echo '5 4 * * * /usr/local/bin/report' | crontab -u carol -
printf '#!/bin/sh\nexit 0\n' >/usr/local/bin/backup
chmod 0755 /usr/local/bin/backup
printf '10.9.9.9 printer\n' >>/etc/hosts
printf 'our own server\n' >/etc/motd
printf 'net.core.somaxconn = 2048\nvm.swappiness = 7\n' >/etc/sysctl.d/50-own.conf
sysctl --quiet --load=/etc/sysctl.d/50-own.conf || true
mkdir -p /etc/chrony/conf.d /etc/systemd/system/cron.service.d
echo 'makestep 1 -1' >/etc/chrony/conf.d/own.conf
printf '[Service]\nNice=5\n' >/etc/systemd/system/cron.service.d/own.conf
printf '[Service]\nType=exec\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/own.service
systemctl daemon-reload
systemctl enable --quiet --now own.service
systemctl restart cron.service
printf 'table inet own {\n\tchain input {\n\t\ttype filter hook input priority 0; policy accept;\n\t\ttcp dport 9999 drop\n\t}\n}\n' >/etc/nftables.conf
nft --file /etc/nftables.conf
"""
"""What the owner of a server set up before."""
MEANWHILE = r"""
set -eu
useradd --create-home --shell /bin/bash dave
echo '@daily root /usr/local/bin/backup' >/etc/cron.d/later
printf '10.9.9.8 scanner\n' >>/etc/hosts
mkdir -p /tmp/monitor/DEBIAN
printf 'Package: own-monitor\nVersion: 1\nArchitecture: all\nMaintainer: owner <owner@example.org>\nDepends: munge\nDescription: needs a package of the stack\n' >/tmp/monitor/DEBIAN/control
dpkg-deb --build /tmp/monitor /tmp/own-monitor.deb >/dev/null
dpkg --install /tmp/own-monitor.deb >/dev/null
nft add rule inet own input tcp dport 8888 drop
echo 'their words' >/etc/motd
"""
"""What the owner changes while the stack has the server."""

STAYING = {"bookworm": {"munge", "libmunge2"}, "noble": {"munge", "libmunge2"}, "trixie": {"munge", "libmunge2", "libgcrypt20", "libgpg-error0"}}
"""Release of a distribution → packages of the stack that one of the owner's came to depend on, and what they depend on and the server had not."""
FROM_PACKAGES = ("/etc/ld.so.cache", "/var/lib/apt/extended_states", "/var/lib/dpkg/status")
"""What the package manager derives from the packages that are installed."""


def blueprint(servers: PlainHosts, suite: str) -> dict[str, Any]:
    return {
        "name": "lab",
        "description": "servers of a test",
        "software": SOFTWARE[suite],
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": {"hosts": NODE}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


@pytest.fixture(scope="module", params=["trixie", "bookworm", "noble"])
def servers(request: pytest.FixtureRequest) -> Iterator[PlainHosts]:
    with plain.plain_hosts(f"release-{request.param}", 3, names=(CONTROL, LOGIN, NODE), suites=(request.param,), shared=HOME) as found:
        for name in (CONTROL, NODE):
            found.inside_all(name, "sh", "-c", OWN)
        yield found


@pytest.fixture(scope="module")
def before(servers: PlainHosts) -> dict[str, Described]:
    return {name: described(servers, name) for name in servers.servers}


@pytest.mark.timeout(3600)  # apt installs and purges on three servers
def test_released_servers_are_as_they_were(servers: PlainHosts, before: dict[str, Described], tmp_path: Path) -> None:
    """A life of a stack: one server is off when the others are released, and its administrator releases it later."""
    suite = servers[CONTROL].suite
    (tmp_path / "lab.yaml").write_text(json.dumps(blueprint(servers, suite)))
    with deployment(f"test-release-{suite}", tmp_path, target="metal", blueprint=str(tmp_path / "lab.yaml")) as stack:
        stack.up()
        assert stack.ssh("srun hostname").split() == [NODE]
        for name in servers.servers:
            assert json.loads(servers.inside(name, "cat", MARK))["stack"] == stack.stack
        servers.inside_all(NODE, "sh", "-c", MEANWHILE)
        servers.power_off(LOGIN)
        refused = stack.clusterwright("down")
        assert refused.returncode == 1, refused.stdout[-3000:] + refused.stderr[-3000:]
        assert f"clusterwright down --stack {stack.stack} --abandon {LOGIN}" in refused.stdout + refused.stderr
        done = stack.clusterwright("down", "--abandon", LOGIN)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    said = refused.stdout + done.stdout
    servers.power_on(LOGIN)
    assert servers.inside(LOGIN, "python3", f"{FOLDER}/release.py", within_s=UP_WITHIN_S) == "this host is released\n"
    after = {name: described(servers, name) for name in servers.servers}
    assert differences(before[CONTROL], after[CONTROL]) == {}
    assert differences(before[LOGIN], after[LOGIN]) == {}
    assert f"{CONTROL}: data is kept in /var/lib/clusterwright/kept/{stack.stack}/var/lib/clusterwright/state" in said
    changed = differences(before[NODE], after[NODE])
    assert set(re.findall(rf"{NODE}: package (\S+) stays: \S+ depends on it", said)) == STAYING[suite]
    packages = (*STAYING[suite], "own-monitor")
    theirs = {*servers.inside(NODE, "dpkg-query", "--listfiles", *packages).splitlines(), *FROM_PACKAGES}
    theirs |= {what for what in changed if any(name in what for name in packages)}
    assert set(changed) - theirs == {
        "/etc/cron.d/later", "/etc/hosts", "/etc/motd", "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/subuid-",
        "/etc/subgid-", "rules table inet own {",
    }  # fmt: skip
    users = [line.partition(":")[0] for line in servers.inside(NODE, "cat", "/etc/passwd").splitlines()]
    assert users[-2:] == ["munge", "dave"]
    assert servers.inside(NODE, "cat", "/etc/hosts").splitlines()[-2:] == ["10.9.9.9 printer", "10.9.9.8 scanner"]
    assert servers.inside(NODE, "cat", "/etc/motd") == "their words\n"
    assert f"{NODE}: package munge stays: own-monitor depends on it" in said
