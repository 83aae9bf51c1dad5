"""tools/setup, tools/clean-cache and the Makefile."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tools import release
from tests.tools.installer import write_program

PROJECT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
# All that tools/setup itself calls; a machine on which nothing else is installed.
BARE = ("sh", "cat", "cut", "dirname", "flock", "mkdir", "mv", "rm", "sha256sum", "uname")


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in BARE:
        found = shutil.which(program)
        assert found is not None
        (programs / program).symlink_to(found)
    write_program(programs / "python3", "exit 0")
    return programs


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    shutil.copytree(PROJECT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", *(path.name for path in PROJECT.glob("constraints*.txt"))):
        shutil.copy2(PROJECT / name, root / name)
    return root


def setup(checkout: Path, programs: Path, *parts: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "tools/setup"), *parts],
        env={"PATH": str(programs), "HOME": str(checkout.parent), **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_warm_checkout_has_nothing_to_do() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "EXTRAS"}
    subprocess.run([PROJECT / "tools/setup", "python", "engine"], env=environment, check=True)
    answer = subprocess.run([PROJECT / "tools/setup", "python", "engine"], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout + answer.stderr == ""


def test_a_user_who_is_not_root_is_told_what_is_missing_and_the_rest_goes_on(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "id", "echo 1000")
    write_program(bare_machine / "apt-get", "echo apt-get was called >&2; exit 1")
    answer = setup(checkout, bare_machine, "packages")
    assert answer.returncode == 0
    assert "not root, so these packages stay missing: mmdebstrap systemd-container" in answer.stderr
    assert "sudo apt-get install mmdebstrap systemd-container" in answer.stderr
    assert "apt-get was called" not in answer.stderr


ROOT_PAGE = """\
error: stack mine has its hosts on this machine, which needs root: they are containers with networks and mounts of their own
remedy: sudo make up STACK=mine
"""


@pytest.mark.parametrize(
    ("user", "settings", "page"),
    [
        ("1000", None, ROOT_PAGE),
        ("1000", "config:\n  clusterwright:blueprint: starter\n", ROOT_PAGE),
        ("1000", "config:\n  clusterwright:target: local\n", ROOT_PAGE),
        ("1000", "config:\n  clusterwright:target: aws\n", ""),
        ("1000", '{"config": {"clusterwright:target": "aws"}}', ""),
        ("0", "config:\n  clusterwright:target: local\n", ""),
        ("0", None, ""),
    ],
)
def test_hosts_on_this_machine_are_refused_without_root_before_anything_is_made(
    checkout: Path, bare_machine: Path, user: str, settings: str | None, page: str
) -> None:
    write_program(bare_machine / "id", f"echo {user}")
    (bare_machine / "sed").symlink_to("/usr/bin/sed")
    (checkout / "stacks").mkdir()
    if settings is not None:
        (checkout / "stacks/Pulumi.mine.yaml").write_text(settings)
    before = sorted(checkout.rglob("*"))
    answer = setup(checkout, bare_machine, "root", STACK="mine")
    assert (answer.returncode, answer.stderr) == (1 if page else 0, page)
    assert sorted(checkout.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_checkout_of_somebody_else_is_one_page_whose_remedy_works(checkout: Path, tmp_path: Path) -> None:
    for folder in (*tmp_path.parents, tmp_path):
        folder.chmod(folder.stat().st_mode | 0o055)
    subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
    subprocess.run(["git", "-c", "user.name=ada", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=checkout, check=True)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={home}"]
    answer = subprocess.run([*other, str(checkout / "tools/setup"), "python"], capture_output=True, text=True, check=False)
    what, _, remedy = answer.stderr.partition("remedy: ")
    assert (answer.returncode, what) == (1, f"error: you can't write to {checkout}, which belongs to root\n")
    done = subprocess.run([*other, "sh", "-c", remedy], cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (home / "my-clusterwright/.git").is_dir()


def test_root_gets_only_what_is_missing_and_apt_never_asks(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "id", "echo 0")
    write_program(bare_machine / "ssh", "exit 0")
    write_program(bare_machine / "apt-get", 'echo "$DEBIAN_FRONTEND: $*" >&2')
    answer = setup(checkout, bare_machine, "packages")
    assert answer.returncode == 0, answer.stderr
    calls = [line for line in answer.stderr.splitlines() if line.startswith("noninteractive: ")]
    assert len(calls) == 1
    assert " -y " in calls[0]
    assert " mmdebstrap systemd-container" in calls[0]
    assert "openssh-client" not in calls[0]


def test_a_browser_is_installed_only_when_asked_for_and_only_where_there_is_none(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "id", "echo 0")
    write_program(bare_machine / "apt-get", 'echo "apt-get $*" >&2')
    assert "chromium" not in setup(checkout, bare_machine, "packages").stderr
    assert setup(checkout, bare_machine, "browser").stderr.endswith("install -y --no-install-recommends chromium\n")
    write_program(bare_machine / "google-chrome", "exit 0")
    assert setup(checkout, bare_machine, "browser").stderr == ""


def test_who_may_not_install_a_browser_is_told_how(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "id", "echo 1000")
    write_program(bare_machine / "apt-get", "exit 1")
    answer = setup(checkout, bare_machine, "browser")
    assert answer.returncode == 0
    assert "tests of pages need them:  sudo apt-get install chromium" in answer.stderr


def test_old_package_lists_are_renewed_once(checkout: Path, bare_machine: Path) -> None:
    lists = checkout.parent / "lists"
    write_program(bare_machine / "id", "echo 0")
    write_program(bare_machine / "apt-get", f'echo "apt-get $*" >&2; case "$*" in *update*) echo new >{lists} ;; *) [ -f {lists} ] ;; esac')
    answer = setup(checkout, bare_machine, "packages")
    assert answer.returncode == 0, answer.stderr
    verbs = [next(word for word in line.split() if word in ("install", "update")) for line in answer.stderr.splitlines() if line.startswith("apt-get ")]
    assert verbs == ["install", "update", "install"]


def test_a_mirror_that_is_being_renewed_is_asked_again(checkout: Path, bare_machine: Path) -> None:
    misfit, fitting = checkout.parent / "misfit", checkout.parent / "fitting"
    write_program(bare_machine / "id", "echo 0")
    write_program(bare_machine / "apt-get", f'case "$*" in *update*) [ -f {misfit} ] && echo >{fitting} || echo >{misfit} ;; *) [ -f {fitting} ] ;; esac')
    answer = setup(checkout, bare_machine, "packages")
    assert answer.returncode == 0, answer.stderr


def test_an_apt_that_fails_is_a_page(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "id", "echo 0")
    write_program(bare_machine / "apt-get", "echo E: Unable to locate package >&2; exit 100")
    answer = setup(checkout, bare_machine, "packages")
    assert answer.returncode == 1
    assert "E: Unable to locate package" in answer.stderr
    assert "error: apt could not install mmdebstrap" in answer.stderr
    assert "remedy:" in answer.stderr


def test_a_machine_without_a_new_enough_python_is_told_so(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "python3", "exit 1")
    answer = setup(checkout, bare_machine, "python")
    assert answer.returncode == 1
    assert answer.stderr.startswith("error: no Python 3.11 or newer here")
    assert "remedy:" in answer.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(
    ("parts", "settings", "message"),
    [
        (("pyhton",), {}, "error: unknown part 'pyhton'\nremedy: it can be root, packages, bmc, browser, python, bytecode, engine, kubernetes or scanner\n"),
        (("python",), {"EXTRAS": "azure"}, "error: there is no extra 'azure'\nremedy: it can be aws, gcp, kubernetes or metal\n"),
    ],
)
def test_a_wrong_word_is_named_with_the_right_ones(checkout: Path, bare_machine: Path, parts: tuple[str, ...], settings: dict[str, str], message: str) -> None:
    answer = setup(checkout, bare_machine, *parts, **settings)
    assert answer.returncode == 1
    assert answer.stderr == message


def with_uv(checkout: Path, script: str) -> dict[str, str]:
    """Put a program in the place of the installer, in a cache of the test; gives the settings that name it."""
    pins = (checkout / "tools/installer/constraints.txt").read_bytes()
    place = checkout.parent / "cache/installer" / f"{hashlib.sha256(pins).hexdigest()[:16]}-{os.uname().sysname}-{os.uname().machine}"
    place.mkdir(parents=True)
    write_program(place / "uv", script)
    return {"CLUSTERWRIGHT_CACHE": str(checkout.parent / "cache"), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}


UV = """
echo "$UV_CACHE_DIR $UV_FIND_LINKS: $*" >>CALLS
for last; do :; done
case $2 in venv) exec python3 -m venv --without-pip "$last" ;; esac
"""
"""Notes how it is called, and makes environments as the real one does: without pip."""


def test_packages_come_from_the_installers_cache_by_their_hashes(checkout: Path) -> None:
    calls, wheels = checkout.parent / "calls", checkout.parent / "wheels"
    wheels.mkdir()
    settings = with_uv(checkout, UV.replace("CALLS", str(calls)))
    answer = setup(checkout, Path("/usr/bin:/bin"), "python", **settings, PIP_FIND_LINKS=f"{wheels} /nowhere")
    assert answer.returncode == 0, answer.stderr
    place = f"{checkout.parent}/cache/packages {wheels}:"
    assert calls.read_text().splitlines() == [
        f"{place} --quiet venv --clear --python {shutil.which('python3', path='/usr/bin:/bin')} .venv",
        f"{place} --quiet pip install --python .venv/bin/python --no-deps --require-hashes --requirement constraints.txt",
        f"{place} --quiet pip install --python .venv/bin/python --no-deps --no-build-isolation --editable .",
    ]
    assert setup(checkout, Path("/usr/bin:/bin"), "python", **settings).stderr == ""
    assert len(calls.read_text().splitlines()) == 3


@pytest.mark.parametrize("script", ["exit 2", UV.replace("CALLS", os.devnull) + "exit 2"])
def test_pip_goes_on_where_the_installer_fails(checkout: Path, script: str) -> None:
    answer = setup(checkout, Path("/usr/bin:/bin"), "python", **with_uv(checkout, script))
    assert answer.returncode == 1
    assert "uv could not install the packages; trying pip" in answer.stderr
    assert "No matching distribution found" in answer.stderr, "pip was asked"


def test_packages_that_cannot_be_had_are_a_page_and_nothing_of_them_is_remembered(checkout: Path) -> None:
    settings = {"CLUSTERWRIGHT_CACHE": str(checkout.parent / "cache"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    answer = setup(checkout, Path("/usr/bin:/bin"), "python", **settings)
    assert "installing uv" in answer.stderr
    assert "trying pip" not in answer.stderr, "uv was never there"
    (place,) = (checkout.parent / "cache/installer").iterdir()
    assert list(place.iterdir()) == []
    assert answer.returncode == 1
    assert f"error: the Python packages could not be installed into {checkout}/.venv" in answer.stderr
    assert "PIP_INDEX_URL" in answer.stderr
    assert [path.name for path in (checkout / ".venv/.clusterwright").iterdir()] == ["folder"]


def test_an_engine_that_cannot_be_made_fails_the_setup_and_is_not_remembered(checkout: Path) -> None:
    settings = {"CLUSTERWRIGHT_ENGINE": "path", "CLUSTERWRIGHT_CACHE": str(checkout.parent / "cache")}
    answer = setup(checkout, Path("/usr/bin:/bin"), "engine", **settings)
    assert answer.returncode == 1
    assert "no `pulumi` on PATH" in answer.stderr
    assert [path.name for path in (checkout / ".clusterwright").iterdir()] == ["setup.lock"]


class TestConstraints:
    def test_every_release_has_hashes_and_no_host_is_named(self) -> None:
        for file in (*PROJECT.glob("constraints*.txt"), *PROJECT.glob("tools/*/constraints.txt")):
            text = file.read_text()
            releases = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
            assert releases
            assert all(line.endswith("\\") for line in releases), f"{file.name}: a release without hashes"
            assert "://" not in text
            assert "--index-url" not in text
            assert "--find-links" not in text

    def test_a_package_has_one_version_in_all_files(self) -> None:
        versions: dict[str, set[str]] = {}
        for file in PROJECT.glob("constraints*.txt"):
            for line in file.read_text().splitlines():
                if "==" in line and not line.startswith((" ", "#")):
                    name, _, rest = line.partition("==")
                    versions.setdefault(name, set()).add(rest.split()[0])
        assert {name: found for name, found in versions.items() if len(found) > 1} == {}

    def test_no_cloud_package_is_installed_by_default(self) -> None:
        names = {line.partition("==")[0] for line in (PROJECT / "constraints.txt").read_text().splitlines() if "==" in line}
        assert {name for name in names if name.startswith("pulumi")} == {"pulumi"}

    def test_the_sdk_and_the_engine_are_one_version(self) -> None:
        version = (PROJECT / "tools/engine/version").read_text().strip()
        assert f"\npulumi=={version} " in (PROJECT / "constraints.txt").read_text()
        assert f"github.com/pulumi/pulumi/pkg/v3 v{version}\n" in (PROJECT / "tools/engine/cli/go.mod").read_text()


class TestCleanCache:
    def clean(self, cache: Path, hosts: Path) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "CLUSTERWRIGHT_CACHE": str(cache), "CLUSTERWRIGHT_HOSTS": str(hosts)}
        return subprocess.run([PROJECT / "tools/clean-cache"], env=environment, capture_output=True, text=True, check=False)

    @pytest.mark.parametrize(("name", "tag"), [("clusterwright", False), ("elsewhere", True)])
    def test_the_cache_is_removed_when_no_stack_uses_it(self, tmp_path: Path, name: str, tag: bool) -> None:
        cache = tmp_path / name
        (cache / "engine").mkdir(parents=True)
        if tag:
            (cache / "CACHEDIR.TAG").touch()
        assert self.clean(cache, tmp_path / "hosts").returncode == 0
        assert not cache.exists()

    def test_a_stack_that_is_up_keeps_it(self, tmp_path: Path) -> None:
        cache = tmp_path / "clusterwright"
        cache.mkdir()
        (tmp_path / "hosts/local").mkdir(parents=True)
        answer = self.clean(cache, tmp_path / "hosts")
        assert answer.returncode == 1
        assert answer.stderr == "error: the hosts of stack 'local' run from the cache\nremedy: make down STACK=local\n"
        assert cache.exists()

    def test_a_folder_that_is_no_cache_is_left_alone(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        (home / "work").mkdir(parents=True)
        answer = self.clean(home, tmp_path / "hosts")
        assert answer.returncode == 1
        assert "does not look like a cache" in answer.stderr
        assert (home / "work").exists()


def test_make_alone_lists_every_target() -> None:
    make = subprocess.run(["make", "--no-print-directory", "-C", PROJECT], capture_output=True, text=True, check=True)
    phony = [line.split()[1] for line in (PROJECT / "Makefile").read_text().splitlines() if line.startswith(".PHONY:")]
    listed = [line.split()[0] for line in make.stdout.splitlines()[1:]]
    assert listed == phony


def continuous_integration(checkout: Path, programs: Path) -> list[str]:
    shutil.copytree(PROJECT / ".ci", checkout / ".ci")
    write_program(programs / "id", "echo 0")
    write_program(programs / "sleep", "exit 0")
    answer = subprocess.run([checkout / ".ci/run"], env={"PATH": str(programs)}, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


def test_continuous_integration_begins_on_a_machine_without_make(checkout: Path, bare_machine: Path) -> None:
    copy = shutil.which("cp")
    write_program(checkout / "make", 'echo "$CI $*"')
    write_program(bare_machine / "apt-get", f"case $* in *'install '*' make') {copy} {checkout}/make {bare_machine}/make ;; esac")
    assert continuous_integration(checkout, bare_machine) == ["true setup-test", "true test"]


def test_continuous_integration_sets_up_again_what_a_network_kept_from_it(checkout: Path, bare_machine: Path) -> None:
    failed = checkout / "failed"
    write_program(bare_machine / "make", f'echo "$CI $*"; case $* in setup-test) [ -d {failed} ] || {{ mkdir {failed}; exit 2; }} ;; esac')
    assert continuous_integration(checkout, bare_machine) == ["true setup-test", "true setup-test", "true test"]


@pytest.fixture
def small_release(checkout: Path, tmp_path: Path) -> release.Release:
    """The checkout with a release of two small parts in place of Kubernetes."""
    small = release.copied(tmp_path / "small")
    shutil.rmtree(checkout / "tools/kubernetes")
    (small.folder / "tools/kubernetes").rename(checkout / "tools/kubernetes")
    (small.folder / "tools").rmdir()
    (small.folder / "tools").symlink_to(checkout / "tools")
    (checkout / "components").symlink_to(PROJECT / "components")
    return small


def setup_kubernetes(checkout: Path, small: release.Release) -> subprocess.CompletedProcess[str]:
    return setup(checkout, Path(small.environment()["PATH"]), "kubernetes", CLUSTERWRIGHT_CACHE=str(small.cache))


def test_kubernetes_is_made_and_remembered(checkout: Path, small_release: release.Release) -> None:
    answer = setup_kubernetes(checkout, small_release)
    assert answer.returncode == 0, answer.stderr
    assert (Path((checkout / ".clusterwright/kubernetes").read_text().strip()) / "bin/beta").exists()
    assert setup_kubernetes(checkout, small_release).stderr == ""
    (small_release.part("beta") / "go.sum").write_text("changed\n")
    assert "building beta" in setup_kubernetes(checkout, small_release).stderr


def test_kubernetes_that_cannot_be_made_fails_the_setup_and_is_not_remembered(checkout: Path, small_release: release.Release) -> None:
    (small_release.state / "refuse").touch()
    answer = setup_kubernetes(checkout, small_release)
    assert answer.returncode == 1
    assert "error: this release of Kubernetes is not in the cache and cannot be made here" in answer.stderr
    assert sorted(path.name for path in (checkout / ".clusterwright").glob("kubernetes*")) == []
    (small_release.state / "refuse").unlink()
    assert setup_kubernetes(checkout, small_release).returncode == 0


def test_a_scanner_that_can_not_be_installed_is_said_and_the_rest_goes_on(checkout: Path, bare_machine: Path) -> None:
    answer = setup(checkout, bare_machine, "scanner")
    assert answer.returncode == 0, answer.stderr
    assert "the scanner could not be installed" in answer.stderr
    assert not (checkout / ".clusterwright/scanner").exists()


def test_an_installed_scanner_is_taken_as_it_is(checkout: Path, bare_machine: Path) -> None:
    pins = (checkout / "tools/scanner/constraints.txt").read_bytes()
    made = checkout / "cache/scanner" / hashlib.sha256(pins).hexdigest()[:16]
    (made / "bin").mkdir(parents=True)
    write_program(made / "bin/python", "exit 0")
    answer = setup(checkout, bare_machine, "scanner", CLUSTERWRIGHT_CACHE=str(checkout / "cache"))
    assert answer.stderr == ""
    assert (checkout / ".clusterwright/scanner").read_text() == f"{made}\n"
