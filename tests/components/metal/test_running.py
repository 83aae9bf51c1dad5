"""What a release stops, starts and sets again."""

from pathlib import Path

import pytest

from components.metal.guest import adopt, kernel, units
from components.metal.guest.system import System

SYSTEMCTL = """#!/bin/sh
# A strict stand-in: units in three states, of which it lists those that are asked for, and jobs that wait.
case " $* " in *" list-jobs "*"--no-legend"*)
    echo "  17 clusterwright-guard.service start waiting"
    echo "  18 network-online.target       start waiting"
    echo "  19 owners.timer                stop  running"
    exit ;;
esac
case " $* " in *" list-units "*) ;; *) exit 1 ;; esac
for state in active:cron.service activating:clusterwright-mounts.service failed:owners.service; do
    case " $* " in *"=${state%%:*} "* | *"=${state%%:*},"* | *",${state%%:*},"*) echo "${state#*:} loaded ${state%%:*} x" ;; esac
done
"""


def test_units_of_the_stack_stop_and_those_that_it_stopped_start() -> None:
    before, left = ["cron.service", "apt-daily.timer", "ssh.socket"], ["cron.service", "munge.service", "ssh.service"]
    now = ["cron.service", "munge.service", "slurmstepd.scope", "ssh.service", "owners.service"]
    assert units.to_stop(before=before, left=left, now=now) == ["munge.service", "slurmstepd.scope", "ssh.service"]
    assert units.to_start(before=before, left=left, now=now) == ["apt-daily.timer", "ssh.socket"]


def test_units_that_only_start_are_stopped_too(tmp_path: Path) -> None:
    """A release soon after a boot: what was starting would run when all else is gone."""
    program = tmp_path / "usr/bin/systemctl"
    program.parent.mkdir(parents=True)
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    assert units.active(System(str(tmp_path))) == ["clusterwright-guard.service", "clusterwright-mounts.service", "cron.service"]


def test_a_unit_that_its_owner_stopped_since_stays_stopped() -> None:
    assert units.to_start(before=["cron.service"], left=["cron.service"], now=[]) == []


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("net.core.somaxconn = 5000", "net/core/somaxconn", "5000"),
        ("-vm/swappiness=7", "vm/swappiness", "7"),
        ("net.ipv4.conf.eth0/100.rp_filter = 2", "net/ipv4/conf/eth0.100/rp_filter", "2"),
        ("net/ipv4/conf/eth0.100/rp_filter = 2", "net/ipv4/conf/eth0.100/rp_filter", "2"),
    ],
)
def test_settings_are_named_as_sysctl_names_them(line: str, name: str, value: str) -> None:
    assert kernel.named(f"# a comment = 1\n; another = 2\n\n{line}\n") == {name: value}


def test_values_are_the_same_whatever_stands_between_their_numbers() -> None:
    assert kernel.same("4096\t131072\t6291456", "4096 131072 6291456")
    assert not kernel.same("1", "10")


def test_what_others_started_between_two_rounds_counts_as_there_before() -> None:
    def host(*running: str) -> dict[str, object]:
        return {"places": {}, "packages": {}, "units": [*running], "settings": {}, "tables": {}, "mounts": {}}

    kept = {"before": host("cron.service", "apt-daily.timer"), "left": host("cron.service", "munge.service"), "is_open": False}
    opened = adopt.open_round(kept, host("cron.service", "munge.service", "owners.service"))
    assert opened["before"]["units"] == ["apt-daily.timer", "cron.service", "owners.service"]
    assert opened["is_open"]
