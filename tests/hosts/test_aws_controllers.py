"""Two controllers in two zones and a managed database on AWS, from `up` to `down`: on a simulated cloud whose instances are hosts of this machine, and whose database is a MariaDB server that speaks
TLS only."""

import contextlib
import dataclasses
from collections.abc import Iterator

import pytest

from components.local.machine import command
from tests.hosts.deployment import wait_until
from tests.hosts.on_cloud import INSTANCE, NAME, OnCloud, Steps, blueprint
from tests.simcloud.hosted import databases, place

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak]

STACK = "test-aws-pair"
BLUEPRINT = blueprint(
    "pair-aws",
    network="{cidr: 10.89.0.0/16, region: us-east-1, zones: [us-east-1a, us-east-1b]}",
    pool="cpu: {machine: m7i.large, nodes: {min: 0, max: 2}}",
    software="debian-13-aws",
    control="{machine: m7i.large, highly_available: true}",
    accounting="{database: managed}",
)
JOB_STATE = "/var/lib/clusterwright/state/slurmctld/job_state"
AUTHORITIES = "/var/lib/clusterwright/database-authorities.pem"
TAKEN_OVER_WITHIN_S = 150
ACCOUNTED_WITHIN_S = 90
REFUSED = 1
SSL_ERROR = 2026
"""CR_SSL_CONNECTION_ERROR of the client library (MariaDB, "Client error codes")."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pair(OnCloud):
    """A stack with two controllers."""

    def serving(self) -> set[str]:
        """Name the controllers that run and have the mark of the one that serves."""
        found = set()
        for hostname in ("control-0", "control-1"):
            with contextlib.suppress(ValueError, AssertionError, command.CommandFailed):
                if self.inside(hostname, "sh", "-c", "test ! -e /run/slurmctld/serves || echo serves").strip():
                    found.add(hostname)
        return found

    def is_known_to_both(self, job: str) -> None:
        """Wait until a job stands in the state that both controllers share: Slurm writes it every few seconds, and what it was told since is lost with the power."""
        changed = float(self.inside("control-0", "date", "+%s.%N"))
        self.ssh(f"scontrol update jobid={job} comment=known")
        written = ("stat", "--format=%.Y", JOB_STATE)
        wait_until(lambda: float(self.inside("control-0", *written)) > changed, awaiting="the state to be written", within_s=60)

    def accounted(self, *jobs: str) -> list[str]:
        """Give what accounting says of jobs; nothing while it can't be asked."""
        return self.ssh(f"sacct --jobs={','.join(jobs)} --allocations --noheader --parsable2 --format=State 2>/dev/null || true").split()

    def connects(self, *, name: str, authorities: str, tls: bool = True) -> bool:
        """Say whether the first controller is let into the database with the password that it has."""
        ((_, password),) = [
            line.split("=", 1) for line in self.inside("control-0", "cat", "/etc/slurm/slurmdbd.conf").splitlines() if line.startswith("StoragePass=")
        ]
        secure = [f"--ssl-ca={authorities}", "--ssl-verify-server-cert"] if tls else ["--skip-ssl"]
        file = f"[client]\nuser=slurm\npassword={password}\n"
        try:
            self.inside(
                "control-0", "mariadb", "--defaults-file=/dev/stdin", f"--host={name}", "--connect-timeout=10", *secure, "--execute=SELECT 1", stdin=file
            )
        except command.CommandFailed:
            return False
        return True

    def daemon_says(self, setting: str) -> str:
        """Give what a second slurmdbd says on the first controller that is told one thing otherwise; it ends after some seconds."""
        name = setting.partition("=")[0]
        script = f"""mkdir -p /run/other && cp /etc/slurm/slurm.conf /run/other/
sed -e 's|^{name}=.*|{setting}|' -e 's|^PidFile=.*|PidFile=/run/other/pid|' /etc/slurm/slurmdbd.conf >/run/other/slurmdbd.conf
chown -R slurm:slurm /run/other && chmod 0600 /run/other/slurmdbd.conf
SLURM_CONF=/run/other/slurm.conf timeout 8 runuser --user slurm -- slurmdbd -D 2>&1 || true"""
        return self.inside("control-0", "sh", "-c", script)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with Pair.of(STACK, tmp_path_factory.mktemp("pair"), BLUEPRINT) as one:
        yield one


def test_a_pair_of_controllers_lives_from_up_to_down(stack: Pair) -> None:
    steps = Steps()
    stack.up()
    assert stack.serving() == {"control-0"}
    assert stack.cloud.audit() == []
    zones = {one.tags["clusterwright:node"]: one["availabilityZone"] for one in stack.cloud.things(INSTANCE, tags={"clusterwright:part": "control"})}
    assert zones == {"control-0": "us-east-1a", "control-1": "us-east-1b"}
    steps.over("up: two controllers, one of them serves")

    (database,) = stack.cloud.things("rds.Instance")
    name = str(database["address"])
    assert stack.connects(name=name, authorities=AUTHORITIES)
    assert not stack.connects(name=name, authorities=AUTHORITIES, tls=False), "the server wants TLS"
    assert not stack.connects(name=name, authorities="/etc/ssl/certs/ca-certificates.crt"), "others vouch for services than for databases"
    assert not stack.connects(name=database.addresses[0], authorities=AUTHORITIES), "the certificate is for the name"
    for setting in ("StorageParameters=SSL_CA=/etc/ssl/certs/ca-certificates.crt", f"StorageHost=host={database.addresses[0]};ssl-verify-server-cert=1"):
        assert f" {SSL_ERROR} " in stack.daemon_says(setting), "so does the accounting daemon"
    with pytest.raises(command.CommandFailed):
        stack.inside("login-0", "timeout", "5", "bash", "-c", f"exec 3<>/dev/tcp/{database.addresses[0]}/{databases.PORT}")
    steps.over("the database is let in to by controllers, over TLS, by those who verify it")

    job = stack.ssh("sbatch --parsable --wait --nodes=1 --wrap 'srun hostname'").strip()
    wait_until(lambda: stack.accounted(job) == ["COMPLETED"], awaiting="the job to be accounted", within_s=ACCOUNTED_WITHIN_S)
    steps.over("a job has run and is accounted in the database")

    (first,) = stack.cloud.things(INSTANCE, tags={"clusterwright:node": "control-0"})
    running = stack.ssh("sbatch --parsable --nodes=1 --wrap 'sleep 90; srun hostname'").strip()
    wait_until(lambda: stack.state(running) == "RUNNING", awaiting="the job to run", within_s=60)
    stack.is_known_to_both(running)
    stack.cloud.end(first.id)
    wait_until(lambda: stack.serving() == {"control-1"}, awaiting="the second controller to serve", within_s=TAKEN_OVER_WITHIN_S)
    steps.over("the first controller was lost, and the second serves")
    during = stack.ssh("sbatch --parsable --wait --nodes=2 --wrap 'srun hostname'").strip()
    assert len(stack.output(during)) == 2, "the second controller starts nodes, too"
    wait_until(
        lambda: stack.accounted(during, running) == ["COMPLETED"] * 2, awaiting="both jobs to be accounted by the second daemon", within_s=ACCOUNTED_WITHIN_S
    )
    steps.over("it started a node; the job that ran on and the new one are accounted")

    stack.up()
    wait_until(lambda: stack.serving() == {"control-0"}, awaiting="the first controller to serve again", within_s=60)
    wait_until(lambda: len(stack.accounted(job, running, during)) == 3, awaiting="accounting to go on", within_s=ACCOUNTED_WITHIN_S)
    steps.over("up: a new first controller serves, with all that was known")
    assert stack.preview_changes() == {}
    steps.over("nothing to change")

    refused = stack.clusterwright("down")
    assert refused.returncode == REFUSED
    assert "accounting-database" in refused.stderr
    assert stack.cloud.things("rds.Instance"), "nothing is taken down before what is protected is refused"
    stack.choose("accounting.protect", False)
    stack.up()
    stack.down()
    assert stack.cloud.things() == []
    wait_until(lambda: place.left_behind(place.names_of(NAME)) == (), awaiting="the machine to be as it was", within_s=120)
    steps.over("down: refused while the database is protected; then nothing is left")
