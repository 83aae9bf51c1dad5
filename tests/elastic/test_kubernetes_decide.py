"""What the autoscaler of Kubernetes decides: which hosts start and end for the pods that wait and run, and which are left alone."""

from components.elastic.kubernetes import decide, model, program
from components.elastic.kubernetes.decide import End, Mark, Memory, Stop
from components.elastic.model import Cloud, Life
from tests.elastic.kubernetes_objects import BOOT_S, GPU, IDLE_S, TOLD, decided, instance, node, of_daemon, pod, row, started, table


def test_a_gang_gets_as_many_nodes_as_it_needs_and_no_more() -> None:
    assert started(decided([pod("a"), pod("b")])[0]) == {"train": ("train-0", "train-1")}
    assert started(decided([pod("a", gpus=4), pod("b", gpus=4)])[0]) == {"train": ("train-0",)}


def test_pods_that_wait_for_something_else_start_nothing() -> None:
    assert decided([pod("a", waits=False)])[0] == []  # the scheduler has not looked yet
    assert decided([pod("a", gpus=9)])[0] == []
    assert decided([pod("a", nodeSelector={"clusterwright.io/pool": "other"})])[0] == []
    assert decided([{**of_daemon("d", ""), "status": pod("d")["status"]}])[0] == []


def test_hosts_that_come_are_counted() -> None:
    assert decided([pod("a")], instances=[instance("train-0", at=990.0)])[0] == []
    assert started(decided([pod("a"), pod("b")], instances=[instance("train-0")])[0]) == {"train": ("train-1",)}


def test_a_node_that_has_just_come_takes_the_pods_it_came_for_and_later_the_scheduler_knows_better() -> None:
    there = [instance("train-0")]
    _, memory = decided([], [node("train-0")], there, now=1000.0)
    assert started(decided([pod("a")], [node("train-0")], there, memory=memory, now=1010.0)[0]) == {}
    busy = pod("x", node="train-0", gpus=8)
    assert started(decided([busy, pod("a")], [node("train-0")], there, memory=memory, now=1010.0)[0]) == {"train": ("train-1",)}
    half = pod("x", node="train-0", gpus=4)
    assert started(decided([half, pod("a", gpus=4)], [node("train-0")], there, memory=memory, now=1010.0)[0]) == {}
    assert started(decided([half, pod("a", gpus=4)], [node("train-0")], there, memory=memory, now=1040.0)[0]) == {"train": ("train-1",)}


def test_one_pod_for_each_host_gets_one_host_for_each_pod() -> None:
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}}
    assert started(decided([pod("a", gpus=1, affinity=apart), pod("b", gpus=1, affinity=apart)])[0]) == {"train": ("train-0", "train-1")}


def test_the_minimum_always_runs_and_never_goes() -> None:
    of = table(row(minimum=1))
    assert started(decided(of=of)[0]) == {"train": ("train-0",)}
    memory = Memory(idle={"train-0": 0.0})
    assert decided([], [node("train-0")], [instance("train-0")], memory=memory, of=of)[0] == []


def test_a_pool_of_several_machines_keeps_its_limit() -> None:
    of = table(row("a", pool="train", count=1, pool_most=1), row("b", pool="train", count=1, pool_most=1))
    templates = {one.name: program.template(TOLD, None) for one in of.node_sets}
    seen = model.read([pod("a"), pod("b")], ())
    steps, _ = decide.decide(of, templates, kubernetes=seen, cloud=Cloud(()), memory=Memory(), now=0.0, idle_s=IDLE_S)
    assert started(steps) == {"a": ("a-0",)}


def test_idle_nodes_go_and_others_stay() -> None:
    there, nodes = [instance("train-0"), instance("train-1")], [node("train-0"), node("train-1")]
    pods = [of_daemon("f0", "train-0"), of_daemon("f1", "train-1"), pod("x", node="train-1")]
    steps, memory = decided(pods, nodes, there, now=1000.0)
    assert steps == []
    assert decided(pods, nodes, there, memory=memory, now=1000.0 + IDLE_S - 1)[0] == []
    steps, _ = decided(pods, nodes, there, memory=memory, now=1000.0 + IDLE_S)
    assert [(step.node, step.instance) for step in steps] == [("train-0", "i-train-0")]
    kept = [node("train-0", unschedulable=True), node("train-1")]  # by an administrator
    assert decided(pods, kept, there, memory=memory, now=1000.0 + IDLE_S)[0] == []


def test_outdated_nodes_go_as_soon_as_they_are_idle() -> None:
    steps, _ = decided([], [node("train-0")], [instance("train-0", is_outdated=True)])
    assert steps == [Stop("train-0", "i-train-0", "outdated")]
    steps, _ = decided([], [node("train-0", annotations={model.STARTED_FROM: "of before"})], [instance("train-0")])
    assert steps == [Stop("train-0", "i-train-0", "outdated")]
    assert decided([pod("x", node="train-0")], [node("train-0")], [instance("train-0", is_outdated=True)])[0] == []


def test_an_outdated_node_that_always_runs_is_replaced() -> None:
    of = table(row(minimum=1))
    steps, memory = decided([], [node("train-0")], [instance("train-0", is_outdated=True)], of=of)
    assert steps == [Stop("train-0", "i-train-0", "outdated")]
    assert started(decided(memory=memory, of=of)[0]) == {"train": ("train-0",)}
    assert decided([pod("x", node="train-0")], [node("train-0")], [instance("train-0", is_outdated=True)], of=of)[0] == []


def test_hosts_beyond_a_smaller_maximum_go_when_they_are_idle_and_count_until_then() -> None:
    of = table(row(count=1))
    busy, idle = [pod("x", node="train-3")], [node("train-3")]
    assert decided([], idle, [instance("train-3")], of=of)[0] == [Stop("train-3", "i-train-3", "outdated")]
    assert decided(busy, idle, [instance("train-3")], of=of)[0] == []
    assert started(decided([*busy, pod("a")], idle, [instance("train-3")], of=of)[0]) == {}  # the fleet would refuse it
    steps, memory = decided([], [], [instance("train-3")], of=of)  # it has not joined
    assert ([(type(step), step.node, step.instance) for step in steps], memory.pauses) == ([(End, "train-3", "i-train-3")], {})


def test_nodes_beyond_a_smaller_maximum_are_forgotten_with_their_hosts_and_those_of_others_stay() -> None:
    of = table(row(count=1))
    assert decided([], [node("train-3")], [], of=of)[0] == [End("train-3", "", "its host is gone")]
    for other in (node("train-3", annotations={}), node("fixed-3"), node("train-a")):
        assert decided([], [other], [], of=of)[0] == []


def test_a_stop_that_was_cut_off_is_gone_on_with_at_each_of_its_steps() -> None:
    stopping = node("train-0", annotations={model.STARTED_FROM: program.mark(TOLD), model.STOPPING: "idle"}, unschedulable=True)
    assert decided([], [stopping], [instance("train-0")])[0] == [Stop("train-0", "i-train-0", "idle")]
    assert decided([], [stopping], [])[0] == [End("train-0", "", "its host is gone")]


def test_a_dead_host_is_ended_and_its_node_forgotten_so_that_its_pods_move() -> None:
    steps, memory = decided([pod("x", node="train-0")], [node("train-0", is_ready=False)], [instance("train-0", life=Life.ENDED)])
    assert steps == [End("train-0", "i-train-0", "its host has ended")]
    assert memory.pauses == {}
    steps, memory = decided([], [], [instance("train-0", life=Life.ENDED)])  # it died before it was a node
    assert ([type(step) for step in steps], [*memory.pauses]) == ([End], ["train"])


def test_a_host_that_does_not_join_is_replaced_after_a_pause_that_grows() -> None:
    waits, there = [pod("a")], [instance("train-0")]
    _, memory = decided(waits, instances=there, now=0.0)
    steps, memory = decided(waits, instances=there, memory=memory, now=BOOT_S + 1)
    assert [type(step) for step in steps] == [End]
    assert [one.name for one in memory.pauses["train"].pods] == ["a"]
    until = memory.pauses["train"].until
    assert decided(waits, memory=memory, now=until - 1)[0] == []
    steps, again = decided(waits, memory=memory, now=until)
    assert started(steps) == {"train": ("train-0",)}
    second = again.paused("train", "again", (), until).pauses["train"]
    assert second.until - until == 2 * (until - (BOOT_S + 1))
    _, recovered = decided([pod("a", node="train-0")], [node("train-0")], there, memory=again, now=until + 1)
    assert "train" not in recovered.pauses


def test_a_node_that_the_scheduler_does_not_use_is_not_started_again_and_again() -> None:
    waits, there = [pod("a")], [instance("train-0")]
    for before in (decided(waits, now=-9.0), decided(waits, [], there, now=-9.0)):  # this process started it, or saw it come
        _, memory = decided(waits, [node("train-0")], there, memory=before[1], now=0.0)
        steps, memory = decided(waits, [node("train-0")], there, memory=memory, now=IDLE_S)
        assert [type(step) for step in steps] == [Stop]
        assert decided(waits, memory=memory, now=IDLE_S + 5)[0] == []


def test_a_node_that_has_run_pods_goes_without_a_pause() -> None:
    there, here = [instance("train-0")], [node("train-0")]
    _, memory = decided([pod("a")], now=0.0)
    _, memory = decided([pod("a", node="train-0")], here, there, memory=memory, now=10.0)
    _, memory = decided([], here, there, memory=memory, now=20.0)
    steps, memory = decided([], here, there, memory=memory, now=20.0 + IDLE_S)
    assert ([type(step) for step in steps], memory.pauses) == ([Stop], {})


def test_nodes_that_were_there_before_this_process_go_without_a_pause() -> None:
    """It can't know whether they have run pods."""
    there = [instance("train-0")]
    _, memory = decided([], [node("train-0", is_ready=False)], there, now=-9.0)  # a moment of silence is no start
    _, memory = decided([], [node("train-0")], there, memory=memory, now=0.0)
    steps, memory = decided([], [node("train-0")], there, memory=memory, now=IDLE_S)
    assert ([type(step) for step in steps], memory.pauses) == ([Stop], {})
    steps, memory = decided([], [node("train-0", is_ready=False)], [instance("train-0", life=Life.ENDED)])
    assert ([type(step) for step in steps], memory.pauses) == ([End], {})


def test_a_node_that_has_come_gets_its_labels_once() -> None:
    launch = model.launch_token("of before", unique="a1b2")
    assert decided([], [node("train-0", annotations={})], [instance("train-0", launch=launch)])[0] == [Mark("train-0", "train", "of before")]


def test_where_hosts_share_a_machine_a_node_offers_what_the_control_plane_sees_of_it() -> None:
    control = model.read((), [node("kubernetes-0", gpus=0)]).nodes["kubernetes-0"]
    offers = program.template(TOLD, control).offers
    assert (offers["cpu"], offers[GPU]) == (1.9, 8.0)
    assert program.template({**TOLD, "node": {**TOLD["node"], "shares_machine": False}}, control).offers["cpu"] == 2.0
