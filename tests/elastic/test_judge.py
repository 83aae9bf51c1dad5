"""One node at a time: what is done with it, and what is left alone."""

from typing import Any

import pytest

from components.elastic.decide.judge import Act, Case, Verdict, judge
from components.elastic.memory import Hold
from components.elastic.model import Fault, Node, fault_of
from tests.elastic.values import BOOT_TIMEOUT_S, NOW, OFF, OLD, STARTING, STOPPING, UP, instance, launch, node, node_set

HOLD = Hold("clusterwright: train is held", NOW - 10, NOW + 500)
DRAINED, SILENT = UP | {"drain"}, UP | {"not_responding"}
OURS, ADMINS, SLURMS = "clusterwright: its instance is gone", "ada looks at the fans", "Not responding"
SHORT = "clusterwright: start guard: 31 of 32 EFA devices"
SICK = "clusterwright: health: GPU 0000:3b:00: Xid 95: Uncontained ECC error (reset the GPU)"
BROKEN = "clusterwright: health: GPU 0000:18:00.0: a row of its memory could not be remapped (replace the part); to be replaced"


def acts(one: Node, **more: Any) -> Act:
    return judge(Case(one, more.pop("node_set", node_set()), NOW, **more)).act


@pytest.mark.parametrize(
    ("one", "more", "wanted"),
    [
        # Switched off
        pytest.param(node(flags=OFF), {}, Act.LEAVE, id="a node that nobody wants stays off"),
        pytest.param(node(flags=OFF), {"node_set": node_set(minimum=1)}, Act.START, id="one that always runs is started"),
        pytest.param(node("train-1", OFF), {"node_set": node_set(minimum=1)}, Act.LEAVE, id="the one after it is not"),
        pytest.param(node(flags=OFF | {"power_up"}), {"node_set": node_set(minimum=1)}, Act.LEAVE, id="nor one that is asked for already"),
        pytest.param(node(flags=OFF, base="mixed"), {"node_set": node_set(minimum=1)}, Act.LEAVE, id="nor one that a job is about to start"),
        pytest.param(node(flags=OFF), {"hold": HOLD}, Act.HOLD, id="a held set's free nodes are out of reach"),
        pytest.param(node(flags=OFF), {"hold": HOLD, "node_set": node_set(minimum=1)}, Act.HOLD, id="also those that always run"),
        pytest.param(node(flags=OFF, base="down", reason=HOLD.reason), {"hold": HOLD}, Act.LEAVE, id="one that is held is not held again"),
        pytest.param(node(flags=OFF, base="down", reason=HOLD.reason), {}, Act.RELEASE, id="the hold is over"),
        pytest.param(node(flags=OFF, base="down", reason=HOLD.reason), {"hold": HOLD, "is_trial": True}, Act.RELEASE, id="one of a held set is tried"),
        pytest.param(node(flags=OFF), {"hold": HOLD, "is_trial": True}, Act.START, id="and started for it"),
        pytest.param(node(flags=OFF), {"full": "clusterwright: full"}, Act.HOLD, id="a full pool's free nodes are out of reach"),
        pytest.param(node(flags=OFF), {"full": "clusterwright: full", "node_set": node_set(minimum=1)}, Act.START, id="but for those that always run"),
        pytest.param(node(flags=OFF, base="down", reason="clusterwright: full"), {"full": "clusterwright: full"}, Act.LEAVE, id="once"),
        pytest.param(node(flags=OFF, base="down", reason=ADMINS), {"full": "clusterwright: full"}, Act.LEAVE, id="a person's reason is not written over"),
        pytest.param(node(flags=OFF, base="mixed"), {"full": "clusterwright: full"}, Act.LEAVE, id="one that a job has is no longer free"),
        pytest.param(node(flags=OFF | {"drain"}, reason=OURS), {}, Act.RELEASE, id="what we drained comes back once it is off"),
        pytest.param(node(flags=OFF, base="down", reason="ResumeTimeout reached"), {}, Act.RELEASE, id="what Slurm gave up comes back, too"),
        pytest.param(
            node(flags=OFF, base="down", reason="ResumeTimeout reached"),
            {"launch": launch(launched=NOW - 300)},
            Act.FAILED_BOOT,
            id="and counts when it had its time",
        ),
        pytest.param(
            node(flags=OFF, base="down", reason="ResumeTimeout reached"), {"launch": launch(launched=NOW - 299)}, Act.RELEASE, id="not when the cloud was late"
        ),
        pytest.param(node(flags=OFF, base="down", reason=ADMINS), {}, Act.LEAVE, id="what a person took down stays down"),
        pytest.param(node(flags=OFF, base="down", reason=ADMINS), {"hold": HOLD}, Act.LEAVE, id="also under a hold"),
        pytest.param(node(flags=OFF | {"drain"}, reason=ADMINS), {}, Act.LEAVE, id="what a person drained stays drained"),
        # Starting
        pytest.param(node(flags=STARTING), {"launch": launch(), "instance": instance()}, Act.LEAVE, id="a booting node has its time"),
        pytest.param(
            node(flags=STARTING, base="mixed"),
            {"launch": launch(launched=NOW - BOOT_TIMEOUT_S), "instance": instance()},
            Act.FAILED_BOOT,
            id="and no more than that",
        ),
        pytest.param(node(flags=STARTING), {"launch": launch(launched=NOW - 179)}, Act.LEAVE, id="an instance that is not shown yet is not lost"),
        pytest.param(node(flags=STARTING), {"launch": launch(launched=NOW - 181)}, Act.FAILED_BOOT, id="one that is never shown is"),
        pytest.param(
            node(flags=STARTING), {"launch": launch(), "instance": instance(address="")}, Act.LEAVE, id="an instance whose address is not shown is not lost"
        ),
        pytest.param(node(flags=STARTING), {"launch": launch(), "has_ended": True}, Act.FAILED_BOOT, id="an instance that ended while it booted"),
        pytest.param(
            node(flags=STARTING),
            {"launch": launch(), "has_ended": True, "node_set": node_set(kind="spot")},
            Act.FAIL,
            id="a spot instance is taken back at any time",
        ),
        pytest.param(node(flags=STARTING), {}, Act.WAIT, id="a request may be on its way"),
        pytest.param(node(flags=STARTING), {"missing_since": NOW - 59}, Act.WAIT, id="for a minute"),
        pytest.param(node(flags=STARTING), {"missing_since": NOW - 60}, Act.ASK, id="a lost request is made"),
        pytest.param(node(flags=STARTING), {"instance": instance(at=NOW - BOOT_TIMEOUT_S)}, Act.WAIT, id="an instance of an earlier life is no answer to it"),
        pytest.param(
            node(flags=STARTING), {"instance": instance(at=NOW - BOOT_TIMEOUT_S), "missing_since": NOW - 60}, Act.ASK, id="whose request is made, too"
        ),
        pytest.param(node(flags=STARTING), {"instance": instance(at=NOW - 30), "missing_since": NOW - 60}, Act.LEAVE, id="a young one may be meant for it"),
        pytest.param(
            node(flags=STARTING), {"launch": launch(launched=None), "instance": instance()}, Act.REPEAT, id="an earlier life does not answer for a launch"
        ),
        pytest.param(node(flags=STARTING), {"launch": launch(launched=None)}, Act.REPEAT, id="an unanswered request is repeated"),
        pytest.param(node(flags=STARTING), {"launch": launch(at=NOW - 900, launched=None)}, Act.REPEAT, id="also one whose turn came late"),
        pytest.param(node(flags=STARTING), {"launch": launch(at=NOW - 900, launched=None, ask_until=NOW + 1)}, Act.REPEAT, id="for its time"),
        pytest.param(node(flags=STARTING), {"launch": launch(at=NOW - 900, launched=None, ask_until=NOW)}, Act.FAIL, id="not for ever"),
        pytest.param(
            node(flags=STARTING),
            {"launch": launch(launched=None), "instance": instance(at=NOW - 30)},
            Act.LEAVE,
            id="an unanswered request that was heard is not repeated",
        ),
        pytest.param(node(flags=STARTING, base="down", reason=OURS), {"launch": launch()}, Act.STOP, id="a run that was killed in between is finished"),
        pytest.param(node(flags=STARTING | {"power_down"}), {"launch": launch(), "has_ended": True}, Act.FAILED_BOOT, id="a starting node that is to stop"),
        # Up
        pytest.param(node(base="mixed"), {"instance": instance()}, Act.LEAVE, id="a working node is left alone"),
        pytest.param(node(), {"instance": instance(), "launch": launch()}, Act.UP, id="a node that registered is up"),
        pytest.param(node(flags=SILENT), {"instance": instance(), "launch": launch()}, Act.LEAVE, id="not before it answers"),
        pytest.param(node(base="mixed"), {}, Act.LEAVE, id="a node that answers is alive, whatever the cloud shows"),
        pytest.param(node(base="mixed", flags=SILENT), {}, Act.WAIT, id="a silent one without instance is watched"),
        pytest.param(node(base="mixed", flags=SILENT), {"missing_since": NOW - 119}, Act.WAIT, id="for two minutes"),
        pytest.param(node(base="mixed", flags=SILENT), {"missing_since": NOW - 120}, Act.FAIL, id="then it is gone"),
        pytest.param(
            node(base="mixed", flags=SILENT), {"instance": instance(), "missing_since": NOW - 500}, Act.LEAVE, id="a silent one with instance has Slurm's time"
        ),
        pytest.param(node(base="mixed"), {"has_ended": True}, Act.FAIL, id="an instance that the cloud says is gone is gone"),
        pytest.param(
            node(base="mixed"), {"has_ended": True, "is_certain": False}, Act.WAIT, id="an ended one may be of an earlier life, while the node answers"
        ),
        pytest.param(node(base="mixed"), {"has_ended": True, "is_certain": False, "missing_since": NOW - 120}, Act.FAIL, id="not for ever"),
        pytest.param(node(base="mixed", flags=SILENT), {"has_ended": True, "is_certain": False}, Act.FAIL, id="nor when the node is silent"),
        pytest.param(node(base="down", reason=SLURMS), {"instance": instance()}, Act.FAIL, id="what Slurm found dead is replaced"),
        pytest.param(node(base="down", reason=ADMINS), {"instance": instance()}, Act.LEAVE, id="what a person took down is not"),
        pytest.param(node(base="down", reason=ADMINS), {"has_ended": True}, Act.LEAVE, id="even without an instance"),
        pytest.param(node(flags=DRAINED, reason=ADMINS), {"instance": instance()}, Act.LEAVE, id="a person's drain stays"),
        pytest.param(node(flags=DRAINED, reason=OURS, base="mixed"), {"instance": instance()}, Act.LEAVE, id="our drain waits for jobs"),
        pytest.param(node(flags=DRAINED, reason=OURS), {"instance": instance()}, Act.STOP, id="then the node is stopped"),
        # What a node's own check drained: what the pool says of it.
        *(
            pytest.param(
                node(flags=DRAINED, reason=reason, base=base),
                {"instance": instance(), "node_set": node_set(on_failure=wanted), **more},
                act,
                id=f"unhealthy, {wanted or 'no word'}: {act.value} {more or ''} {base} {reason}",
            )
            for wanted, reason, more, base, act in (
                ("", SICK, {}, "idle", Act.STOP),
                ("keep", SICK, {}, "idle", Act.LEAVE),
                ("keep", BROKEN, {"missing_since": OLD}, "idle", Act.LEAVE),
                ("keep", OURS, {}, "idle", Act.STOP),
                ("repair", SICK, {}, "idle", Act.WAIT),
                ("repair", SICK, {"missing_since": NOW - 1799}, "idle", Act.WAIT),
                ("repair", SICK, {"missing_since": NOW - 1800}, "idle", Act.REPLACE),
                ("repair", BROKEN, {}, "mixed", Act.LEAVE),
                ("repair", BROKEN, {}, "idle", Act.REPLACE),
                ("reboot", BROKEN, {"may_be_reported": True}, "idle", Act.REPLACE),
                ("report", SICK, {"may_be_reported": True}, "idle", Act.WAIT),
                ("report", SICK + "; to be replaced", {"may_be_reported": True}, "idle", Act.REPLACE),
                ("report", BROKEN, {"may_be_reported": True}, "mixed", Act.LEAVE),
                ("report", BROKEN, {"may_be_reported": True}, "idle", Act.REPORT),
                ("report", BROKEN, {"may_be_reported": False}, "idle", Act.REPLACE),
                ("report", BROKEN + ", Not responding", {"reported": BROKEN}, "down", Act.REPORT),
                ("report", BROKEN + ", Not responding", {}, "down", Act.FAIL),
            )
        ),
        # What Slurm itself drained: its reason says so, or who gave it.
        *(
            pytest.param(node(flags=DRAINED, reason=reason, by=by), {"instance": instance()}, Act.REPLACE, id=f"Slurm's own drain: {reason}")
            for reason, by in (
                ("gres/gpu count reported lower than configured (7 < 8)", "slurm"),
                ("Low RealMemory (reported:24105 < 90.00% of configured:99999)", "slurm"),
                ("Kill task failed", "root"),
                ("Prolog error", "slurm"),
                ("batch job complete failure", "slurm"),
                ("words of a Slurm to come", "slurm"),
            )
        ),
        pytest.param(node(flags=DRAINED, reason="Kill task failed", base="mixed"), {"instance": instance()}, Act.LEAVE, id="Slurm's drain waits for jobs"),
        pytest.param(node(flags=OFF | {"drain"}, reason="Prolog error", by="slurm"), {}, Act.RELEASE, id="what Slurm drained comes back once it is off"),
        pytest.param(node(base="down", reason="reboot timed out", by="slurm"), {"instance": instance()}, Act.FAIL, id="what did not come back is replaced"),
        pytest.param(
            node(flags=UP | {"reboot_issued"}, base="down", reason="reboot issued", by="slurm"), {}, Act.LEAVE, id="a node that boots anew has its time"
        ),
        pytest.param(
            node(flags=DRAINED | {"invalid_reg"}, reason=f"{ADMINS}, Low RealMemory", by="slurm"),
            {"instance": instance(), "launch": launch()},
            Act.LEAVE,
            id="a person's drain stays, whatever Slurm adds to it",
        ),
        pytest.param(node(flags=DRAINED, reason=f"{ADMINS}, words of a Slurm to come", by="slurm"), {"instance": instance()}, Act.LEAVE, id="whatever it is"),
        pytest.param(
            node(flags=DRAINED | {"invalid_reg"}, base="mixed", reason="gres/gpu count reported lower than configured (7 < 8)", by="slurm"),
            {"instance": instance(), "launch": launch()},
            Act.FAILED_BOOT,
            id="a node that came with less than it should has not booted",
        ),
        pytest.param(node(flags=STARTING, base="down", reason=SHORT), {"launch": launch()}, Act.FAILED_BOOT, id="nor has one that refused to start"),
        pytest.param(node(base="down", reason=SHORT), {"launch": launch(), "instance": instance()}, Act.FAILED_BOOT, id="whatever Slurm took it for"),
        pytest.param(node(base="mixed"), {"instance": instance(has_notice=True)}, Act.DRAIN, id="a spot notice drains"),
        pytest.param(node(flags=DRAINED, reason=OURS, base="mixed"), {"instance": instance(has_notice=True)}, Act.LEAVE, id="once"),
        pytest.param(node(), {"instance": instance(is_outdated=True)}, Act.STOP, id="an idle node of an older template is replaced"),
        pytest.param(node(base="mixed"), {"instance": instance(is_outdated=True)}, Act.LEAVE, id="one with jobs is not"),
        pytest.param(node(flags=UP | {"completing"}), {"instance": instance(is_outdated=True)}, Act.LEAVE, id="nor one whose job is ending"),
        # What a node itself found missing
        pytest.param(
            node(flags=STARTING, base="down", reason=SHORT),
            {"launch": launch(), "instance": instance()},
            Act.FAILED_BOOT,
            id="a node that came short while it booted",
        ),
        pytest.param(
            node(base="down", reason=SHORT), {"launch": launch(), "instance": instance()}, Act.FAILED_BOOT, id="also where Slurm no longer calls it starting"
        ),
        pytest.param(node(base="down", reason=SHORT), {"instance": instance()}, Act.FAIL, id="one that came short when it started again is replaced"),
        pytest.param(node(flags=OFF, base="down", reason=SHORT), {"launch": launch()}, Act.FAILED_BOOT, id="one that Slurm has switched off meanwhile counts"),
        pytest.param(node(flags=OFF, base="down", reason=SHORT), {}, Act.RELEASE, id="once"),
        pytest.param(
            node(flags=STARTING, base="down", reason="clusterwright: 31 of 32 EFA devices"),
            {"launch": launch()},
            Act.STOP,
            id="what was counted is not counted again",
        ),
        # Maintenance: whatever happens to such a node, nobody relaunches it in a loop.
        pytest.param(node(flags=UP | {"maintenance"}, base="down", reason=SLURMS), {"has_ended": True}, Act.LEAVE, id="a dead node under maintenance"),
        pytest.param(node(flags=OFF | {"maintenance"}), {"node_set": node_set(minimum=1)}, Act.LEAVE, id="a node under maintenance that always runs"),
        pytest.param(node(flags=STARTING | {"maintenance"}), {"missing_since": NOW - 500}, Act.LEAVE, id="a node under maintenance that starts"),
        pytest.param(
            node(flags=UP | {"reserved"}, base="down", reason=SLURMS), {"instance": instance()}, Act.FAIL, id="any other reservation protects no dead node"
        ),
        # Stopping
        pytest.param(node(flags=STOPPING), {"has_ended": True}, Act.LEAVE, id="a stopping node is Slurm's"),
        pytest.param(node(flags=UP | {"power_down"}, base="mixed"), {"instance": instance()}, Act.LEAVE, id="one that stops after its jobs, too"),
    ],
)
def test_a_node(one: Node, more: dict[str, Any], wanted: Act) -> None:
    assert acts(one, **more) is wanted


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (SLURMS, "it does not answer"),
        ("", "it does not answer"),
        ("reboot timed out", "Slurm took it down: reboot timed out"),
        (SHORT, "31 of 32 EFA devices"),
    ],
)
def test_a_node_that_is_down_is_replaced_with_the_reason_that_somebody_gave(reason: str, why: str) -> None:
    assert judge(Case(node(base="down", reason=reason), node_set(), NOW, instance=instance())) == Verdict(Act.FAIL, why)


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        (BROKEN, Fault.GPU_ERROR),
        ("clusterwright: health: mlx5_1 port 1 is DOWN and was active (replace the part); to be replaced", Fault.SLOW),
        (f"{SICK}; mlx5_1 port 1 is DOWN and was active (replace the part); to be replaced", Fault.SLOW),
        ("clusterwright: health: mlx5_1 port 1 is DOWN and was active (replace the part); GPU 0000:18:00.0: slow (replace the part)", Fault.GPU_ERROR),
    ],
)
def test_a_broken_port_is_reported_as_slow_and_a_broken_gpu_as_what_it_is(reason: str, fault: Fault) -> None:
    assert fault_of(reason) is fault
