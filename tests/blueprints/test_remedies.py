"""What the messages about the language advise: the words of other tools, values written in other ways, and files of other tools."""

import pytest

from blueprints import finding, load, message_text, read
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.language import Blueprint, examples, other_tools, outline, synonyms

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
POOL = "name: tiny\npools: {train: {nodes: 1, %s}}\n"
COUNT = "name: tiny\npools: {train: {%s}}\n"
STORAGE = "name: tiny\npools: {train: {nodes: 1}}\nstorage: {fast: {mount: /fast, %s}}\n"
TOP = "name: tiny\npools: {train: {nodes: 1}}\n%s\n"
LUSTRE = "kind: lustre, %s"


def findings(text: str, *, target: str = "local") -> tuple[finding.Finding, ...]:
    try:
        return load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        return invalid.findings


def errors(text: str, *, target: str = "local") -> list[finding.Finding]:
    return [found for found in findings(text, target=target) if found.level is finding.Level.ERROR]


@pytest.mark.parametrize(
    ("text", "code", "remedy"),
    [
        # The choices of a mapping's keys.
        (TOP % "targets: {azure: {}}", Code.CHOICE_UNKNOWN, "it is one of: aws, gcp, local, metal"),
        (TOP % "targets: {google: {}}", Code.CHOICE_UNKNOWN, "did you mean `gcp`? it is one of: aws, gcp, local, metal"),
        # Values that lack a unit, or have another one.
        (STORAGE % LUSTRE % "size: 1200", Code.SIZE_FORM, "write `1200 GiB`"),
        (STORAGE % LUSTRE % "size: 64Gi", Code.SIZE_FORM, "write `64 GiB`"),
        (STORAGE % LUSTRE % "size: 500GB", Code.SIZE_FORM, "write `466 GiB`, which is as much: GB counts in powers of 1000, and GiB in powers of 1024"),
        (STORAGE % LUSTRE % "size: 1 TB", Code.SIZE_FORM, "write `932 GiB`, which is as much: TB counts in powers of 1000, and GiB in powers of 1024"),
        (STORAGE % LUSTRE % "throughput: 250", Code.THROUGHPUT_FORM, "write `250 MB/s/TiB`"),
        (STORAGE % LUSTRE % "throughput: 250 MB/s", Code.THROUGHPUT_FORM, "write `250 MB/s/TiB`"),
        (POOL % "memory: 64", Code.SIZE_FORM, "write `64 GiB`"),
        (POOL % "partition: {max_time: 24h}", Code.TIME_FORM, "write `1-00:00:00`"),
        (POOL % "partition: {max_time: 1d12h}", Code.TIME_FORM, "write `1-12:00:00`"),
        (POOL % "partition: {max_time: 90 minutes}", Code.TIME_FORM, "write `01:30:00`"),
        (COUNT % "nodes: 2-4", Code.TYPE_WRONG, "write `nodes: {min: 2, max: 4}`"),
        (COUNT % "nodes: 2..4", Code.TYPE_WRONG, "write `nodes: {min: 2, max: 4}`"),
        (COUNT % "nodes: 2.0", Code.TYPE_WRONG, "write `2`"),
        (COUNT % f"nodes: {10**18}", Code.TYPE_WRONG, "write a smaller number: one of more than 18 digits is read as a text"),
        # Numbers where a text is wanted: quotes help only where the text may stand.
        (TOP % "description: 5", Code.TYPE_WRONG, "put it in quotes"),
        ("name: 5\npools: {train: {nodes: 1}}\n", Code.TYPE_WRONG, "begin it with a letter"),
        (STORAGE.replace("/fast", "5") % "kind: nfs", Code.TYPE_WRONG, "write `/5`"),
        # Names.
        ("name: tiny\npools: {p_5: {nodes: 1}}\n", Code.NAME_FORM, "write `p-5`"),
        ("name: tiny\npools: {5_p: {nodes: 1}}\n", Code.NAME_FORM, "write `p`"),
        (POOL % "accelerator: nvidia-h100-80gb, gpus_per_node: 8", Code.ACCELERATOR_UNKNOWN, "did you mean `h100`? "),
        (POOL % "accelerator: NVIDIA-RTX-PRO-6000, gpus_per_node: 8", Code.ACCELERATOR_UNKNOWN, "did you mean `rtx-pro-6000`? "),
        # Words of other tools for values.
        (STORAGE % "kind: fsx", Code.CHOICE_UNKNOWN, "did you mean `lustre`? "),
        (STORAGE % "kind: efs", Code.CHOICE_UNKNOWN, "did you mean `nfs`? "),
        (STORAGE % "kind: filestore", Code.CHOICE_UNKNOWN, "did you mean `nfs`? "),
        (STORAGE % "kind: s3", Code.CHOICE_UNKNOWN, "did you mean `object`? "),
        (STORAGE % "kind: gcs", Code.CHOICE_UNKNOWN, "did you mean `object`? "),
        (STORAGE % "kind: ebs", Code.CHOICE_UNKNOWN, "did you mean `block`? "),
        (POOL % "fabric: efa", Code.CHOICE_UNKNOWN, "did you mean `required`? "),
        (POOL % "fabric: true", Code.CHOICE_UNKNOWN, "did you mean `required`? "),
        (POOL % "placement: cluster", Code.CHOICE_UNKNOWN, "did you mean `packed`? "),
        (POOL % "capacity: capacity-block", Code.CHOICE_UNKNOWN, "did you mean `block`? "),
        (POOL % "capacity: {kind: capacity-block}", Code.CHOICE_UNKNOWN, "did you mean `block`? "),
        (POOL % "capacity: ON_DEMAND", Code.CHOICE_UNKNOWN, "did you mean `on-demand`? "),
        (TOP % "scheduler: k8s", Code.CHOICE_UNKNOWN, "did you mean `kubernetes`? "),
        # Words of other tools for keys.
        (STORAGE % "kind: existing, id: fs-1", Code.KEY_UNKNOWN, "`id` is `source` here: write `source: fs-1`"),
        (POOL % "max_price: 3", Code.KEY_UNKNOWN, "take it out: a limit of the price is not part of the language; `plan` says what the cluster costs"),
        (POOL % "accelerator: h100, gpus: 8", Code.KEY_UNKNOWN, "`gpus` is `gpus_per_node` here: write `gpus_per_node: 8`"),
        (COUNT % "count: 4", Code.KEY_UNKNOWN, "`count` is `nodes` here: write `nodes: 4`"),
        (COUNT % "min_nodes: 0, max_nodes: 4", Code.KEY_UNKNOWN, "`min_nodes` is `nodes.min` here: write `nodes: {min: 0, max: …}`"),
        (POOL % "instance_type: p5.48xlarge", Code.KEY_UNKNOWN, "`instance_type` is `machine` here: write `machine: p5.48xlarge`"),
        (POOL % "instanceType: p5.48xlarge", Code.KEY_UNKNOWN, "`instanceType` is `machine` here: write `machine: p5.48xlarge`"),
        (POOL % "type: p5.48xlarge", Code.KEY_UNKNOWN, "`type` is `machine` here: write `machine: p5.48xlarge`"),
        (POOL % "time_limit: 60", Code.KEY_UNKNOWN, "`time_limit` is `partition.max_time` here: write `partition: {max_time: 60}`"),
        (POOL % "spot: true", Code.KEY_UNKNOWN, "write `capacity: spot`"),
        (TOP % "control: {ha: true}", Code.KEY_UNKNOWN, "`ha` is `highly_available` here: write `highly_available: true`"),
        (TOP % "users: {ada: {uid: 2001, account: root, ssh_key: x}}", Code.KEY_UNKNOWN, "write `ssh_keys: [ssh-ed25519 …]`"),
        (TOP % "gpus: 8", Code.KEY_UNKNOWN, "`gpus` is `gpus_per_node` here, and belongs in a pool: `pools: {<name>: …}`"),
        (TOP % "training: {run_by: vertex}", Code.KEY_UNKNOWN, "write `scheduler: training`"),
        (TOP % "vertex: {}", Code.KEY_UNKNOWN, "write `scheduler: training` and `control: {managed: vertex}`"),
        (TOP % "hyperpod: {}", Code.KEY_UNKNOWN, "write `control: {managed: hyperpod}`"),
        # Keys in a wrong place.
        (TOP % "region: us-east-1", Code.KEY_UNKNOWN, "`region` belongs in `network`: write `network: {region: us-east-1}`"),
        (POOL % "max_time: 60", Code.KEY_UNKNOWN, "`max_time` belongs in `partition`: write `partition: {max_time: 60}`"),
        (POOL % "software: debian-13", Code.KEY_UNKNOWN, "`software` is a key of the blueprint itself: write it at the top, without indentation"),
        # Variables.
        (COUNT % 'nodes: "${N}"', Code.TYPE_WRONG, "write the value; what differs from stack to stack is set there (`clusterwright:set`)"),
        (COUNT % "nodes: ${N}", Code.YAML_SYNTAX, "write the value; what differs from stack to stack is set there (`clusterwright:set`)"),
        ("name: tiny\npools:\n  a:\n    nodes: {{ n }}\n", Code.KEY_NOT_TEXT, "write the value; what differs from stack to stack is set there"),
        # Mappings and lists that are written as something else.
        (POOL % 'taints: ["foo=bar:NoSchedule"]', Code.TYPE_WRONG, "write `{key: foo, value: bar, effect: NoSchedule}`"),
        (POOL % "scratch: /scratch", Code.TYPE_WRONG, "write `scratch: {mount: /scratch}`"),
        (POOL % "scratch: 5 TiB", Code.TYPE_WRONG, "write `scratch: {size: 5 TiB}`"),
        (POOL % "scratch: true", Code.TYPE_WRONG, "write it like `scratch: {mount: /scratch, size: 5 TiB}`"),
        (TOP % "control: large", Code.TYPE_WRONG, "write `control: {size: large}`"),
        (TOP % "access: {allowed_cidrs: 192.0.2.0/24}", Code.TYPE_WRONG, "write `allowed_cidrs: [192.0.2.0/24]`"),
        (TOP % "users: [ada]", Code.TYPE_WRONG, "write it like `users: {ada: {uid: 2001, account: vision}}`"),
        ("name: tiny\npools: [train]\n", Code.TYPE_WRONG, "write it like `pools: {train: {nodes: {min: 0, max: 16}}}`"),
    ],
)
def test_a_remedy_is_what_would_be_right(text: str, code: Code, remedy: str) -> None:
    found = [one for one in findings(text) if one.code == code]
    assert found
    assert found[0].remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Region: us-east-1\nHeadNode: {}\nScheduling: {SlurmQueues: []}\n", ("AWS ParallelCluster", "`HeadNode` becomes `control`", "`machines`")),
        ("blueprint_name: a\nvars: {}\ndeployment_groups: []\n", ("Cluster Toolkit", "`deployment_groups` becomes `pools`")),
        ("apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmanagedNodeGroups: []\n", ("eksctl", "`managedNodeGroups` becomes `pools`")),
        ("apiVersion: v1\nkind: Pod\nspec: {}\n", ("Kubernetes", "apply manifests")),
        ("ClusterName: a\nInstanceGroups: []\n", ("HyperPod", "`InstanceGroups` becomes `pools`")),
        ("resources: {accelerators: H100:8}\nnum_nodes: 2\nrun: train.sh\n", ("SkyPilot", "`num_nodes` becomes `nodes` of the pool")),
    ],
)
def test_a_file_of_another_tool_is_one_finding_that_says_what_becomes_of_its_parts(text: str, words: tuple[str, ...]) -> None:
    (only,) = findings(text)
    assert only.code == Code.FOREIGN_FILE
    for word in words:
        assert word in f"{only.what} {only.why}"


@pytest.mark.parametrize("text", ["name: tiny\nHeadNode: {}\npools: {a: {nodes: 1}}\n", "extends: starter\nHeadNode: {}\n", "kind: x\nname: tiny\n"])
def test_a_blueprint_with_a_foreign_key_stays_a_blueprint(text: str) -> None:
    assert other_tools.recognised(read.from_bytes(text.encode(), file="t.yaml")) is None


def test_every_synonym_leads_to_what_the_language_has_and_is_none_of_its_own_words() -> None:
    table = synonyms.table()
    for section, words in table["keys"].items():
        path = tuple(section.split(".")) if section else ()
        own = outline.keys(path, Blueprint)
        assert own, section
        for word, entry in words.items():
            assert word not in own, (section, word)
            if isinstance(entry, str):
                *around, key = entry.split(".")
                assert key in outline.keys((*path, *around), Blueprint), (section, word)
            else:
                assert set(entry) in ({"write"}, {"instead"}), (section, word)
    for key, words in table["values"].items():
        places = [place for place in outline.places_of(key, Blueprint) if outline.choices(place, Blueprint)]
        choices = {word for place in places for word in outline.choices(place, Blueprint)} or set(outline.choices(("targets", "x"), Blueprint, of_key=True))
        assert set(words.values()) <= choices, key


def test_every_mapping_and_list_of_the_language_has_an_example_for_its_message() -> None:
    for key in Blueprint.model_fields:
        assert examples.required((key,), Blueprint).startswith(f"`{key}: ")


@pytest.mark.parametrize(
    ("word", "candidates", "meant"),
    [
        ("h10", ("h100", "a100"), "h100"),
        ("nvidia-tesla-a100", ("h100", "a100"), "a100"),
        ("nvidia_gb200_nvl72", ("b200", "gb200"), "gb200"),
        ("rtx-pro-6000-blackwell", ("l4", "rtx-pro-6000", "rtx-pro-4500"), "rtx-pro-6000"),
        ("elsewhere", ("h100", "a100"), None),
    ],
)
def test_near_words_are_those_that_a_word_contains_or_is_nearly(word: str, candidates: tuple[str, ...], meant: str | None) -> None:
    assert message_text.near(word, candidates) == meant


@pytest.mark.slow
def test_every_key_in_every_other_place_is_answered() -> None:
    """A section's own name inside of it among them: a key that belongs where it already stands is no advice."""
    sections: dict[tuple[str | int, ...], None] = {(): None}
    for key in {key for name in Blueprint.model_fields for key in (name, *outline.keys((name,), Blueprint), *outline.keys((name, "x"), Blueprint))}:
        sections |= dict.fromkeys(tuple("x" if step == outline.ANY_NAME else step for step in place) for place in outline.places_of(key, Blueprint))
    sections = {section: None for section in sections if outline.keys(section, Blueprint)}
    words = {str(section[-1]) for section in sections if section} | {key for section in sections for key in outline.keys(section, Blueprint)}
    for section in sections:
        for word in sorted(words - {*outline.keys(section, Blueprint)}):
            meaning = synonyms.of_key((*section, word), None, Blueprint)
            assert meaning is None or meaning.belongs != section, (section, word)


@pytest.mark.parametrize(
    ("text", "place", "what", "remedy"),
    [
        ("name: t\npoоls: {a: {nodes: 1}}\n", (2, 3), "Cyrillic small letter o", "type `o`"),
        ("name: t\npools: {a: {nodes： 1}}\n", (2, 18), "Fullwidth colon", "type `:`"),
        ("name： t\npools: {a: {nodes: 1}}\n", (1, 5), "Fullwidth colon", "type `:`"),
        ("name: t\npools: {a: {nodes: 1， fabric: none}}\n", (2, 21), "Fullwidth comma", "type `,`"),
        ("name: t\npools: {a: {nodes: 1, capacity: on–demand}}\n", (2, 35), "En dash", "type `-`"),
        ("name: t\npools: {a: {nodes: 1, capacity: 'on–demand'}}\n", (2, 36), "En dash", "type `-`"),
        ("name: t\npools: {a: {nodes: １２}}\n", (2, 20), "Fullwidth digit one", "type `1`"),
        ("name: t\npools:\n\u00a0 a: {nodes: 1}\n", (3, 1), "No-break space", "type a space"),
        ("name: t\npools: {a: {nodes:\u00a01}}\n", (2, 19), "No-break space", "type a space"),
        ("name: t\npools:\n  a:\n    nodes:\u00a01\n", (4, 11), "No-break space", "type a space"),
        ("name: t\npools: {a: {nodes: 1\u00a0# one\n}}\n", (2, 21), "No-break space", "type a space"),
        ("name: t\npools: {a: {nodes:\u200b 1}}\n", (2, 19), "U+200B, Zero width space", "delete it"),
        ("name: t\npools: {a: {no\u200bdes: 1}}\n", (2, 15), "U+200B, Zero width space", "delete it"),
        ("name: t\npo\u00adols: {a: {nodes: 1}}\n", (2, 3), "U+00AD, Soft hyphen", "delete it"),
        ("name: t\npools: {a\u2060: {nodes: 1}}\n", (2, 10), "U+2060, Word joiner", "delete it"),
        ("name: t\npools: {a: {nodes: 1, capacity: on\ufeff-demand}}\n", (2, 35), "U+FEFF", "delete it"),
        ("name: t\npools: {a: {nodes: 1}}\ntags: {te\u200bam: a}\n", (3, 10), "U+200B", "delete it"),
        ("name: t\naccess: {login_nodes: 1\npools: {a: {nodes: 1}}\n", (2, 9), "nothing closes this `{`", "write `}`"),
        ("name: t\naccess: {allowed_cidrs: [10.0.0.0/8\npools: {a: {nodes: 1}}\n", (2, 25), "nothing closes this `[`", "write `]`"),
        ("name: t\npools: {a: {nodes: 1}\n", (2, 8), "nothing closes this `{`", "write `}`"),
        ("name: t\npools: {a: {nodes: 1}}\naccess: {allowed_cidrs: [203.0.113.7]}\n", (3, 26), "without the length of its prefix", "write `203.0.113.7/32`"),
        ("name: t\npools: {a: {nodes: 1}}\nnetwork: {cidr: 10.80.0.0}\n", (3, 17), "without the length of its prefix", "write `10.80.0.0/16`"),
        ("name: t\npools: {a: {nodes: 1}}\nnetwork: {cidr: 10.80.300.0}\n", (3, 17), "no IPv4 address", "write it like"),
    ],
)
def test_a_fault_of_typing_is_one_finding_at_the_very_character(text: str, place: tuple[int, int], what: str, remedy: str) -> None:
    (only,) = errors(text)
    assert only.where is not None
    assert (only.where.line, only.where.column) == place
    assert what in only.what
    assert only.remedy.startswith(remedy)


@pytest.mark.parametrize(("section", "what"), [("accounts", "`a_b` can't be the name of an account"), ("pools", "`a_b` can't be the name of a pool")])
def test_the_article_before_a_kind_of_name_fits(section: str, what: str) -> None:
    sections = {"pools": "{a: {nodes: 1}}", section: "{a_b: {}}"}
    assert what in {one.what for one in errors("name: t\n" + "".join(f"{name}: {entries}\n" for name, entries in sections.items()))}


@pytest.mark.parametrize(("target", "begins"), [("metal", "write it like `server:/export` (NFS) or"), ("aws", "copy it from the console; it looks like")])
def test_the_form_of_a_source_is_advised_from_where_the_target_has_it(target: str, begins: str) -> None:
    text = TOP % "storage: {data: {kind: existing, mount: /data, source: '10.20.0.5@o2ib'}}"
    [found] = [one for one in errors(text, target=target) if one.code == Code.IDENTIFIER_UNFIT]
    assert found.remedy.startswith(begins)


def test_one_database_for_two_controllers_is_advised_only_what_the_target_has() -> None:
    control = "name: t\nsoftware: debian-13\npools: {a: {hosts: g}}\naccess: {hosts: l}\ncontrol: {hosts: 'h-[1-2]', highly_available: true}\n"
    inventory = "inventory: {ranges: [{names: 'h-[1-2]', addresses: 10.20.0.2+}], hosts: {l: {address: 10.20.0.4}, g: {address: 10.20.0.5}}}\n"
    of_site = f"{control}{inventory}storage: {{site: {{kind: existing, mount: /site, source: '10.20.0.9:/site'}}}}\n"
    [warned] = [one for one in findings(of_site, target="metal") if one.code is Code.DATABASE_ALONE]
    assert "managed" not in warned.remedy
    assert not [
        one for one in findings(of_site.replace(", highly_available: true", "").replace("h-[1-2]", "h-1"), target="metal") if one.code is Code.DATABASE_ALONE
    ]
    of_cloud = "name: t\npools: {a: {nodes: 1}}\ncontrol: {highly_available: true}\n"
    [warned] = [one for one in findings(of_cloud, target="aws") if one.code is Code.DATABASE_ALONE]
    assert warned.remedy == "write `accounting: {database: managed}`"
    assert not [one for one in findings(f"{of_cloud}accounting: {{database: managed}}\n", target="aws") if one.code is Code.DATABASE_ALONE]
