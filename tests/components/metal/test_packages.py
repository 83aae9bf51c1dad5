"""Which packages a release purges, installs again and leaves."""

from typing import Any

import pytest

from components.metal.guest import packages
from components.metal.guest.system import Refused, System


def package(
    *, version: str = "1", state: str = "installed", held: bool = False, auto: bool = False, needs: str = "", recommends: str = "", gives: str = ""
) -> dict[str, Any]:
    groups = [[one.split("|") for one in text.split()] for text in (needs, recommends)]
    return {"state": state, "version": version, "held": held, "auto": auto, "needs": groups[0], "recommends": groups[1], "gives": gives.split()}


def described(**named: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {**one, "gives": [name, *one["gives"]]} for name, one in named.items()}


def test_what_the_stack_installed_is_purged() -> None:
    before = described(bash=package())
    left = described(bash=package(), slurmd=package(needs="munge", held=True), munge=package(auto=True))
    plan = packages.plan(before=before, left=left, now=left)
    assert plan.purge == ("munge", "slurmd")
    assert (plan.install, plan.hold, plan.unhold, plan.auto, plan.manual, plan.stay, plan.changed) == ((), (), (), (), (), {}, {})


def test_a_package_stays_that_one_of_the_owners_depends_on() -> None:
    left = described(slurmd=package(needs="munge libmunge2"), munge=package(needs="libmunge2", auto=True), libmunge2=package(auto=True))
    now = left | described(monitor=package(needs="munge"))
    plan = packages.plan(before={}, left=left, now=now)
    assert plan.purge == ("slurmd",)
    assert plan.stay == {"munge": "monitor depends on it", "libmunge2": "munge depends on it"}


def test_a_package_stays_that_its_owner_asked_for_since() -> None:
    left = described(jq=package(auto=True), numactl=package(), slurmd=package(needs="jq"))
    now = described(jq=package(), numactl=package(held=True), slurmd=package(needs="jq"))
    plan = packages.plan(before={}, left=left, now=now)
    assert plan.purge == ("slurmd",)
    assert plan.stay == {"jq": "somebody marked it as manually installed since", "numactl": "somebody holds it since"}


def test_an_alternative_that_is_installed_again_lets_the_stacks_package_leave() -> None:
    before = described(ntp=package(gives="time-daemon"), systemd=package(needs="ntp|time-daemon", recommends="time-daemon"))
    left = described(chrony=package(gives="time-daemon"), systemd=package(needs="ntp|time-daemon", recommends="time-daemon"))
    plan = packages.plan(before=before, left=left, now=left)
    assert (plan.purge, plan.install, plan.stay) == (("chrony",), ("ntp",), {})


def test_a_recommendation_of_an_older_package_keeps_nothing() -> None:
    before = described(mail=package(recommends="cron"))
    left = before | described(cron=package())
    assert packages.plan(before=before, left=left, now=left).purge == ("cron",)
    later = left | described(backup=package(recommends="cron"))
    assert packages.plan(before=before, left=left, now=later).stay == {"cron": "backup depends on it"}


def test_marks_go_back_unless_somebody_changed_them() -> None:
    before = described(kernel=package(), driver=package(held=True), libc=package(auto=True), tool=package())
    left = described(kernel=package(held=True), driver=package(), libc=package(), tool=package(auto=True))
    plan = packages.plan(before=before, left=left, now=left)
    assert (plan.hold, plan.unhold, plan.auto, plan.manual) == (("driver",), ("kernel",), ("libc",), ("tool",))
    untouched = packages.plan(before=before, left=left, now=before)
    assert (untouched.hold, untouched.unhold, untouched.auto, untouched.manual) == ((), (), (), ())


def test_another_version_is_reported_and_stays() -> None:
    before, left = described(kernel=package(version="6.8")), described(kernel=package(version="6.11"))
    plan = packages.plan(before=before, left=left, now=left)
    assert plan.changed == {"kernel": "6.8 → 6.11"}
    assert plan.purge == ()


STATUS = """\
Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.22

Package: slurmd
Status: hold ok installed
Architecture: amd64
Version: 24.11.5-4
Depends: libc6 (>= 2.38), munge | auth-munge:any
Pre-Depends: init-system-helpers (>= 1.54~)
Description: node daemon
 Depends: nothing, this is a description

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.41

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1
"""


def test_dpkgs_own_files_are_read(tmp_path: Any) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    (tmp_path / "var/lib/apt").mkdir(parents=True)
    (tmp_path / "var/lib/apt/extended_states").write_text("Package: slurmd\nArchitecture: amd64\nAuto-Installed: 1\n")
    found = packages.installed(System(str(tmp_path)))
    assert sorted(found) == ["dpkg", "gone", "libc6:i386", "slurmd"]
    assert packages.recorded(found)["slurmd"] == {"state": "installed", "version": "24.11.5-4", "held": True, "auto": True}
    assert found["slurmd"]["needs"] == [["init-system-helpers"], ["libc6"], ["munge", "auth-munge"]]
    assert packages.broken(found) == []


def test_links_that_ldconfig_made_to_purged_libraries_go(tmp_path: Any) -> None:
    folder = tmp_path / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    for name, target in (("libgone-xso.40", "libgone.so.40.1"), ("libtheirs-xso.1", "libtheirs.so.1.1"), ("libkept.so.2", "libkept.so.2.0")):
        (folder / name).symlink_to(target)
    (folder / "libkept.so.2.0").touch()
    listed = {f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("libgone.so.40.1", "libkept.so.2.0")}
    packages._remove_dangling(System(str(tmp_path)), listed)
    assert sorted(path.name for path in folder.iterdir()) == ["libkept.so.2", "libkept.so.2.0", "libtheirs-xso.1"]


@pytest.mark.parametrize("brought", [False, True])
def test_a_link_of_the_stack_in_a_folder_of_packages_goes_before_them_unless_a_package_brought_it(tmp_path: Any, brought: bool) -> None:
    link = tmp_path / packages.LINKS.replace("*", "x86_64-linux-gnu").lstrip("/")
    link.parent.mkdir(parents=True)
    link.symlink_to("libpmix.so.2")
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    if brought:
        (tmp_path / f"var/lib/dpkg/info/{packages.LINKS_PACKAGE}.list").write_text(f"/{link.relative_to(tmp_path)}\n")
    nothing = packages.plan(before={}, left={}, now={})
    assert packages.carry_out(System(str(tmp_path)), nothing) == []
    assert link.is_symlink() is brought


@pytest.mark.parametrize(("before", "left"), [({"slurmd": {"state": "installed"}}, None), ({}, {})])
def test_a_half_installed_package_of_somebody_else_is_refused_before_anything_changes(
    tmp_path: Any, before: dict[str, Any], left: dict[str, Any] | None
) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS.replace("Status: hold ok installed", "Status: install reinstreq half-installed"))
    with pytest.raises(Refused) as refused:
        packages.mend(System(str(tmp_path)), before, left)
    assert refused.value.what == "packages of this host are half-installed: slurmd"
    assert "dpkg --configure" in refused.value.remedy
