"""What the module that installs packages finds missing, and that it installs alone."""

import importlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import ansible.module_utils
import pytest

from blueprints.project import project_root

ansible.module_utils.__path__.append(str(project_root() / "playbooks" / "module_utils"))
host_places = importlib.import_module("ansible.module_utils.host_places")
host_facts = importlib.import_module("host_facts")
server_software = importlib.import_module("server_software")

HERE = {
    "munge": {"want": "install", "state": "installed", "version": "0.5.15-4"},
    "slurmd": {"want": "hold", "state": "installed", "version": "22.05.8-4+deb12u3"},
    "sudo": {"want": "deinstall", "state": "config-files", "version": "1.9"},
    "make": {"want": "install", "state": "half-configured", "version": "4.4"},
    "linux-image-6.1.0-9-amd64": {"want": "install", "state": "installed", "version": "6.1.27-1"},
    "linux-image-6.1.0-8-amd64": {"want": "deinstall", "state": "config-files", "version": "6.1.25-1"},
}


@pytest.mark.parametrize(
    ("wanted", "is_missing"),
    [
        ("munge", False),
        ("slurmd=22.05*", False),
        ("slurmd=24.11*", True),
        ("slurmd=22", True),
        ("sudo", True),
        ("make", True),
        ("gcc", True),
        ("gcc=12*", True),
    ],
)
def test_a_package_is_missing_unless_it_is_installed_as_asked_for(wanted: str, is_missing: bool) -> None:
    assert server_software.missing([wanted], HERE) == ([wanted] if is_missing else [])


def test_installed_packages_that_match_are_held_once() -> None:
    assert server_software.loose(["linux-image-*", "slurmd", "nvidia-*"], HERE) == ["linux-image-6.1.0-9-amd64"]


def test_an_installation_waits_for_the_one_that_a_killed_run_left(tmp_path: Path) -> None:
    lock, order = str(tmp_path / "lock"), []

    def second() -> None:
        with server_software.alone(lock, within_s=30):
            order.append("second")

    with server_software.alone(lock, within_s=0):
        waiting = threading.Thread(target=second)
        waiting.start()
        with pytest.raises(server_software.Failed, match="an earlier run still installs packages"), server_software.alone(lock, within_s=0):
            order.append("third")
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def test_dpkg_is_asked_again_while_another_package_manager_has_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in fails with dpkg's words until it has been asked twice."""
    dpkg = tmp_path / "dpkg"
    dpkg.write_text(
        f"#!/bin/sh\necho asked >>{tmp_path}/asked\n[ $(wc -l <{tmp_path}/asked) -gt 1 ] && exit 0\n"
        "echo 'dpkg: error: dpkg frontend lock was locked by another process with pid 7' >&2; exit 2\n"
    )
    dpkg.chmod(dpkg.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    server_software.configure_pending()
    assert (tmp_path / "asked").read_text().splitlines() == ["asked", "asked"]


def test_a_key_that_was_written_after_the_daemon_started_is_newer(tmp_path: Path) -> None:
    key, started = tmp_path / "munge.key", tmp_path / "munged.pid"
    assert not host_facts.is_newer(str(key), str(started)), "neither is there"
    for path, moment_s in ((key, 100), (started, 200)):
        path.touch()
        os.utime(path, (moment_s, moment_s))
    assert not host_facts.is_newer(str(key), str(started))
    os.utime(key, (300, 300))
    assert host_facts.is_newer(str(key), str(started))


APT_REFUSES = """\
Reading package lists...
The following packages will be upgraded:
  sudo
The following packages will be DOWNGRADED:
  libnccl-dev libnccl2
1 upgraded, 0 newly installed, 2 downgraded, 0 to remove and 0 not upgraded.
E: Packages were downgraded and -y was used without --allow-downgrades.
"""


def test_packages_that_would_become_older_are_named() -> None:
    assert server_software.downgraded(APT_REFUSES.splitlines()) == ["The following packages will be DOWNGRADED:", "  libnccl-dev libnccl2"]
    assert server_software.downgraded(["E: Unable to locate package libnccl2"]) == []


SYSTEMCTL = """#!/bin/sh
# is-enabled UNIT, or disable --quiet UNIT...: units that start with the host are files beside this program.
cd "$(dirname "$0")"
case $1 in
is-enabled) test -e "$2" && echo enabled || echo disabled ;;
disable) shift 2; for unit; do rm "$unit" || exit 1; done ;;
esac
"""


class Recorded:
    """A host with a record: packages, files and units that start with it, for a test to change."""

    def __init__(self, folder: Path):
        self.folder, self.etc = folder, folder / "etc"
        self.packages: dict[str, dict[str, object]] = {"munge": {"version": "1", "held": False}}
        self.etc.mkdir()
        (folder / "bin").mkdir()
        (folder / "bin/systemctl").write_text(SYSTEMCTL)
        (folder / "bin/systemctl").chmod(0o755)

    def enable(self, unit: str) -> None:
        (self.folder / "bin" / unit).touch()

    @property
    def enabled(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "bin").glob("*.service"))

    def install_balancer(self) -> None:
        """Do what apt does for a package that brings a setting, and lets its unit start with the host."""
        self.packages["haproxy"] = {"version": "2", "held": False}
        (self.etc / "haproxy.cfg").write_text("listen")
        self.enable("haproxy.service")

    def be_killed_after_the_installation(self) -> None:
        self.install_balancer()
        raise KeyboardInterrupt

    def fail_after_the_installation(self) -> None:
        self.install_balancer()
        raise server_software.Failed

    @property
    def record(self) -> dict[str, list[str]]:
        found = json.loads(Path(host_places.INSTALLED).read_text())
        return {"places": sorted(Path(path).name for path in found["places"]), "packages": sorted(found["packages"])}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    found = Recorded(tmp_path)
    described = host_places.places
    monkeypatch.setattr(server_software, "CHANGING", str(tmp_path / "installing.json"))
    monkeypatch.setattr(server_software, "TURNING_OFF", str(tmp_path / "turning_off.json"))
    monkeypatch.setattr(host_places, "INSTALLED", str(tmp_path / "installed.json"))
    monkeypatch.setattr(host_places, "places", lambda: described((str(found.etc),)))
    monkeypatch.setattr(host_places, "packages", lambda: dict(found.packages))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    host_places.write_json(host_places.INSTALLED, {"format": 1, "places": {}, "packages": dict(found.packages)})
    return found


def test_what_a_transaction_changes_joins_the_record_and_nothing_else_does(host: Recorded) -> None:
    host.packages["theirs"] = {"version": "1", "held": False}
    (host.etc / "theirs").touch()
    with server_software.recorded(["haproxy.service"]):
        host.install_balancer()
    assert host.record == {"places": ["haproxy.cfg"], "packages": ["haproxy", "munge"]}
    assert host.enabled == [], "it is off before it is recorded"
    assert not Path(server_software.CHANGING).exists()


def test_a_unit_that_started_with_the_host_before_stays(host: Recorded) -> None:
    host.enable("haproxy.service")
    with server_software.recorded(["haproxy.service", "keepalived.service"]):
        host.enable("keepalived.service")
    assert host.enabled == ["haproxy.service"]


def test_what_the_owner_changes_after_a_transaction_that_failed_is_not_ours(host: Recorded) -> None:
    """A part of it is installed, which joins the record."""
    with pytest.raises(server_software.Failed), server_software.recorded(["haproxy.service"]):
        host.fail_after_the_installation()
    assert host.record == {"places": ["haproxy.cfg"], "packages": ["haproxy", "munge"]}
    assert host.enabled == []
    host.packages["theirs"] = {"version": "1", "held": False}
    (host.etc / "theirs").touch()
    host.enable("haproxy.service")
    with server_software.recorded(["haproxy.service"]):
        pass
    assert host.record == {"places": ["haproxy.cfg"], "packages": ["haproxy", "munge"]}
    assert host.enabled == ["haproxy.service"]


def test_what_the_owner_turns_on_after_a_transaction_that_failed_stays_on_a_host_without_a_record(host: Recorded) -> None:
    Path(host_places.INSTALLED).unlink()
    with pytest.raises(server_software.Failed), server_software.recorded(["haproxy.service"]):
        host.fail_after_the_installation()
    assert host.enabled == []
    host.enable("haproxy.service")
    with server_software.recorded(["haproxy.service"]):
        pass
    assert host.enabled == ["haproxy.service"]


def test_a_transaction_that_was_killed_is_recorded_by_the_next_run(host: Recorded) -> None:
    with pytest.raises(KeyboardInterrupt), server_software.recorded(["haproxy.service"]):
        host.be_killed_after_the_installation()
    assert host.record == {"places": [], "packages": ["munge"]}
    with server_software.recorded([]):
        assert host.enabled == ["haproxy.service"]
    assert host.record == {"places": ["haproxy.cfg"], "packages": ["haproxy", "munge"]}
    assert host.enabled == []


def test_a_transaction_that_was_killed_before_it_installed_stops_no_later_run(host: Recorded) -> None:
    """systemctl refuses to disable a unit that is not there."""
    with pytest.raises(KeyboardInterrupt), server_software.recorded(["haproxy.service"]):
        raise KeyboardInterrupt
    with server_software.recorded([]):
        pass
    assert not Path(server_software.CHANGING).exists()


RUN = """
import json, sys
import ansible.module_utils
folder, utilities = sys.argv[1:]
ansible.module_utils.__path__.append(utilities)
import server_software
from ansible.module_utils import basic, host_places
host_places.INSTALLED = f"{folder}/installed.json"
for name in ("LOCK", "POLICY", "KEPT_POLICY", "CHANGING", "TURNING_OFF"):
    setattr(server_software, name, f"{folder}/{name}")
basic._ANSIBLE_PROFILE = "legacy"
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": {"names": ["haproxy"], "stay_off": ["haproxy.service"]}}).encode()
server_software.main()
"""
"""The module as Ansible runs it, with its files in a folder of the test."""
APT_GET = """#!/bin/sh
case $* in *install*) touch {0}/installed {0}/bin/haproxy.service; kill -KILL $PPID ;; esac
"""
DPKG_QUERY = """#!/bin/sh
[ ! -e {0}/installed ] || printf 'haproxy\\tinstall\\tinstalled\\t3.0\\n'
"""


def test_the_next_run_turns_off_what_one_that_was_killed_installed_on_a_host_without_a_record(host: Recorded) -> None:
    """A server that is adopted gets its record at the end of its first run. The stand-in of apt-get installs the package, and kills the run."""
    Path(host_places.INSTALLED).unlink()
    for name, text in (("apt-get", APT_GET), ("dpkg-query", DPKG_QUERY)):
        (host.folder / "bin" / name).write_text(text.format(host.folder))
        (host.folder / "bin" / name).chmod(0o755)
    argv = [sys.executable, "-c", RUN, str(host.folder), str(project_root() / "playbooks/module_utils")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(argv, env=environment, capture_output=True, check=False, timeout=60).returncode == -signal.SIGKILL
    assert host.enabled == ["haproxy.service"]
    again = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert again.returncode == 0, again.stdout + again.stderr
    assert host.enabled == []
    assert not (host.folder / "TURNING_OFF").exists()


def test_a_host_without_a_record_gets_none(host: Recorded) -> None:
    Path(host_places.INSTALLED).unlink()
    with server_software.recorded(["haproxy.service"]):
        host.install_balancer()
    assert host.enabled == []
    assert not Path(host_places.INSTALLED).exists()
