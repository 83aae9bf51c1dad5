"""Inventories from files, commands, NetBox and Ansible: each becomes the same hosts, and what can't be read is found at its place."""

import ipaddress
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from blueprints import finding, load, spec
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.inventory import ansible, source
from blueprints.plan import changes, compare
from blueprints.spec.cost import Effect

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
KEYS = {
    "head": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfO7axdAlzocl3lyLUde3ycoDtp7k+/IF+u2cOZy+M0",
    "login": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEN6R02Uon1KE7LvzsaWmElRXRqE70irJWhpPuN50NMt",
    "gpu-1": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINemqOt8IQG98KsF67IJxFxGMLUzmaMFxJj4sJRBRPIl",
    "gpu-2": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMVCpp3OXD3WmDZqGaCONjIEATrRajSvmH1FSz+OVouK",
}
ADDRESSES = {"head": "10.20.0.2", "login": "10.20.0.3", "gpu-1": "10.20.0.11", "gpu-2": "10.20.0.12"}
RAIL = spec.SiteInterface("rail0", mac="b8:3f:d2:00:11:22", address="10.40.0.11/24", mtu=9000)
EXPECTED = tuple(spec.SiteHost(name, ADDRESSES[name], KEYS[name], *(("10.30.0.11", "r1", "MX1", (RAIL,)) if name == "gpu-1" else ())) for name in KEYS)
BLUEPRINT: dict[str, Any] = {
    "name": "lab",
    "software": "debian-13",
    "control": {"hosts": ["head"]},
    "access": {"hosts": ["login"]},
    "pools": {"train": {"hosts": "gpu-[1-2]"}},
}


def examined(folder: pathlib.Path, inventory: Mapping[str, Any], **more: Any) -> load.Loaded:
    file = folder / "lab.yaml"
    file.write_text(yaml.safe_dump({**BLUEPRINT, "inventory": dict(inventory), **more}, sort_keys=False))
    return load.examine(str(file), target="metal", stack="t", facts=FACTS)


def hosts(folder: pathlib.Path, inventory: Mapping[str, Any], **more: Any) -> tuple[spec.SiteHost, ...]:
    loaded = examined(folder, inventory, **more)
    assert [found.code for found in loaded.findings] == []
    assert loaded.spec.site is not None
    return loaded.spec.site.hosts


def faults(folder: pathlib.Path, inventory: Mapping[str, Any], **more: Any) -> list[finding.Finding]:
    with pytest.raises(finding.Invalid) as invalid:
        examined(folder, inventory, **more)
    return list(invalid.value.findings)


# NetBox


def device(name: str, **more: Any) -> dict[str, Any]:
    """Give a device as NetBox 4.3 answers, as far as it is read, with some of what isn't."""
    return {
        "id": 1,
        "name": name,
        "display": name,
        "role": {"id": 1, "name": "Server", "slug": "server"},
        "status": {"value": "active", "label": "Active"},
        "primary_ip4": {"id": 1, "address": f"{ADDRESSES[name]}/24"} if name in ADDRESSES else None,
        "custom_fields": {"ssh_host_key": KEYS.get(name)},
        "serial": "",
        "rack": None,
        "oob_ip": None,
        **more,
    }


GPU = {"serial": "MX1", "rack": {"id": 3, "name": "r1"}, "oob_ip": {"id": 9, "address": "10.30.0.11/24"}}
DEVICES = [device("head"), device("login"), device("gpu-1", **GPU), device("gpu-2"), device("PP:B117"), device("spare")]
INTERFACES = [
    {"device": {"id": 3, "name": "gpu-1"}, "name": "rail0", "mac_address": "B8:3F:D2:00:11:22", "mtu": 9000, "mgmt_only": False},
    {"device": {"id": 3, "name": "gpu-1"}, "name": "bmc0", "mac_address": "B8:3F:D2:00:11:99", "mtu": None, "mgmt_only": True},
    {"device": {"id": 3, "name": "gpu-1"}, "name": "lo0", "mac_address": None, "mtu": 65520, "mgmt_only": False},
]
IP_ADDRESSES = [
    {"address": "2001:db8::11/64", "assigned_object": {"name": "rail0", "device": {"name": "gpu-1"}}},
    {"address": "10.40.0.11/24", "assigned_object": {"name": "rail0", "device": {"name": "gpu-1"}}},
    {"address": "10.40.0.99/24", "assigned_object": None},
]
NESTED = {
    "interfaces": [{"name": "rail0", "primary_mac_address": {"mac_address": "B8:3F:D2:00:11:22"}, "mtu": 9000, "ip_addresses": [{"address": "10.40.0.11/24"}]}]
}
NETBOX = {
    "answers of the API": {
        "devices": {"count": 6, "next": None, "previous": None, "results": DEVICES},
        "interfaces": {"count": 3, "next": None, "results": INTERFACES},
        "ip_addresses": {"count": 3, "next": None, "results": IP_ADDRESSES},
    },
    "lists": {"devices": DEVICES, "interfaces": INTERFACES, "ip_addresses": IP_ADDRESSES},
    "GraphQL": {"data": {"device_list": [{**one, **(NESTED if one["name"] == "gpu-1" else {})} for one in DEVICES]}},
    "names with a domain": [{**one, "name": f"{one['name']}.example.org", **(NESTED if one["name"] == "gpu-1" else {})} for one in DEVICES],
}


@pytest.mark.parametrize("form", NETBOX)
def test_devices_of_netbox_are_hosts(form: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps(NETBOX[form], indent=2))
    assert hosts(tmp_path, {"file": "netbox.json", "format": "netbox"}) == EXPECTED


def test_values_of_the_blueprint_override_those_of_netbox(tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps(DEVICES))
    found = hosts(tmp_path, {"file": "netbox.json", "format": "netbox", "hosts": {"gpu-2": {"address": "10.20.0.99"}}})
    assert [host.address for host in found] == ["10.20.0.2", "10.20.0.3", "10.20.0.11", "10.20.0.99"]
    assert found[3].host_key == KEYS["gpu-2"]


def test_only_devices_of_the_named_role_count(tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps(DEVICES))
    assert len(hosts(tmp_path, {"file": "netbox.json", "format": "netbox", "group": "server"})) == 4
    assert {fault.code for fault in faults(tmp_path, {"file": "netbox.json", "format": "netbox", "group": "switch"})} == {Code.HOST_UNKNOWN}


def test_a_bad_value_of_netbox_is_found_in_its_own_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps([*DEVICES[:3], device("gpu-2", custom_fields={"ssh_host_key": "AAAA"})], indent=1))
    [fault] = faults(tmp_path, {"file": "netbox.json", "format": "netbox"})
    assert fault.code == Code.HOST_KEY_FORM
    assert fault.where is not None
    assert fault.where.file.endswith("netbox.json")
    assert fault.where.text.strip() == '"name": "gpu-2",'


def test_a_device_without_a_primary_address_is_found_in_its_own_file_and_what_is_advised_helps(tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps([*DEVICES[:3], device("gpu-2", primary_ip4=None)], indent=1))
    inventory = {"file": "netbox.json", "format": "netbox"}
    [fault] = faults(tmp_path, inventory)
    assert (fault.code, fault.what) == (Code.HOST_ADDRESS_MISSING, "the inventory has no address for gpu-2")
    assert fault.where is not None
    assert fault.where.file.endswith("netbox.json")
    assert fault.remedy == "set the device's primary IPv4 address in NetBox, or write `address` in `inventory.hosts`"
    found = hosts(tmp_path, {**inventory, "hosts": {"gpu-2": {"address": ADDRESSES["gpu-2"]}}})
    assert [host.address for host in found] == [*ADDRESSES.values()]


def test_a_near_name_of_netbox_is_suggested(tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps(DEVICES))
    [fault] = faults(tmp_path, {"file": "netbox.json", "format": "netbox"}, pools={"train": {"hosts": "gpu-1"}, "other": {"hosts": "spar"}})
    assert (fault.code, fault.remedy) == (Code.HOST_UNKNOWN, "did you mean `spare`?")


# Ansible

VARIABLES: dict[str, dict[str, Any]] = {
    name: {"ansible_host": ADDRESSES[name], "ssh_host_key": KEYS[name], "ansible_user": "root"} for name in ("head", "login", "gpu-1")
}
VARIABLES["gpu-1"] |= {"bmc": "10.30.0.11", "rack": "r1", "serial": "MX1"}
VARIABLES["gpu-1"] |= {"interfaces": {"rail0": {"mac": "b8:3f:d2:00:11:22", "address": "10.40.0.11/24", "mtu": 9000}}}
FACTS_OF_ANSIBLE = {"ansible_ssh_host_key_ed25519_public_keytype": "ssh-ed25519", "ansible_ssh_host_key_ed25519_public": KEYS["gpu-2"].split()[1]}
LISTED = {
    "_meta": {"hostvars": {**VARIABLES, "gpu-2": {"ansible_host": ADDRESSES["gpu-2"], **FACTS_OF_ANSIBLE}, "bad_name": {}}},
    "all": {"children": ["ungrouped", "slurm"]},
    "ungrouped": {"hosts": ["bad_name"]},
    "slurm": {"children": ["gpu"], "hosts": ["head", "login"]},
    "gpu": {"hosts": ["gpu-1", "gpu-2"]},
}
WRITTEN = f"""
all:
  vars: {{ssh_host_key: "{KEYS["gpu-2"]}", secret: !vault "1234"}}
  children:
    slurm:
      hosts:
        head.example.org: {json.dumps(VARIABLES["head"])}
        login: {json.dumps(VARIABLES["login"])}
      children:
        gpu:
          vars: {{ansible_host: 10.20.0.12}}
          hosts:
            gpu-[1:2]: {{}}
            gpu-1: {json.dumps(VARIABLES["gpu-1"])}
"""


@pytest.mark.parametrize("text", [json.dumps(LISTED, indent=4), yaml.safe_dump(LISTED), WRITTEN], ids=["JSON", "YAML", "written"])
@pytest.mark.parametrize("group", ["", "slurm"])
def test_inventories_of_ansible_are_hosts(text: str, group: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "inventory").write_text(text)
    assert hosts(tmp_path, {"file": "inventory", "format": "ansible", **({"group": group} if group else {})}) == EXPECTED


@pytest.mark.parametrize("pattern", ["gpu-[1:99999999]", "a[0:999]b[0:999]c[0:999]", "gpu-[1:16:0]"])
def test_ranges_of_ansible_with_too_many_hosts_are_refused_unread(pattern: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "inventory").write_text(f"all: {{hosts: {{'{pattern}': {{}}}}}}\n")
    assert Code.INVENTORY_UNREADABLE in {one.code for one in faults(tmp_path, {"file": "inventory", "format": "ansible"})}


def test_several_ranges_in_one_name_of_ansible_are_all_expanded(tmp_path: pathlib.Path) -> None:
    pattern = "h[0:1]x[08:10:2]"
    (tmp_path / "inventory").write_text(f"all: {{hosts: {{'{pattern}': {{}}}}}}\n")
    read = source.of_file("inventory", tmp_path, finding.Position("t.yaml"))
    assert tuple(ansible.hosts(read, "")) == ("h0x08", "h0x10", "h1x08", "h1x10")


@pytest.mark.parametrize("text", [json.dumps(LISTED), WRITTEN])
def test_only_hosts_of_the_named_group_count(text: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "inventory").write_text(text)
    [control, login] = faults(tmp_path, {"file": "inventory", "format": "ansible", "group": "gpu"})
    assert (control.code, login.code) == (Code.HOST_UNKNOWN, Code.HOST_UNKNOWN)


def test_what_ansible_inventory_prints_is_read(tmp_path: pathlib.Path) -> None:
    """Ansible itself reads an inventory in its INI form, and prints the form that is read."""
    lines = "\n".join(f"{name} ansible_host={ADDRESSES[name]} ssh_host_key='{KEYS[name]}'" for name in ADDRESSES)
    (tmp_path / "hosts.ini").write_text(f"[slurm]\n{lines}\n")
    found = hosts(tmp_path, {"command": ["ansible-inventory", "--list", "--inventory", "hosts.ini"], "format": "ansible"})
    assert [(host.name, host.address, host.host_key) for host in found] == [(name, ADDRESSES[name], KEYS[name]) for name in ADDRESSES]


# The own form, and host keys


def own(*, keys: bool = True) -> dict[str, Any]:
    single = {name: {"address": ADDRESSES[name], **({"host_key": KEYS[name]} if keys else {})} for name in ("head", "login")}
    return {
        "hosts": {**single, **({name: {"host_key": KEYS[name]} for name in ("gpu-1", "gpu-2")} if keys else {})},
        "ranges": [{"names": "gpu-[1-2]", "addresses": "10.20.0.11+"}],
    }


@pytest.mark.parametrize("source", ["blueprint", "file", "command"])
def test_the_own_form_is_read_from_everywhere(source: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "hosts.yaml").write_text(yaml.safe_dump(own()))
    given = {"blueprint": own(), "file": {"file": "hosts.yaml"}, "command": {"command": ["cat", "hosts.yaml"]}}[source]
    assert [(host.name, host.address, host.host_key) for host in hosts(tmp_path, given)] == [(name, ADDRESSES[name], KEYS[name]) for name in ADDRESSES]


def test_a_partition_of_a_range_holds_for_its_hosts_unless_one_has_another(tmp_path: pathlib.Path) -> None:
    ranged = {"names": "gpu-[1-2]", "addresses": "10.20.0.11+", "interfaces": {"ib0": {"addresses": "10.40.0.11+/24", "partition_key": "0x8001"}}}
    hosts = {name: {"address": ADDRESSES[name], "host_key": KEYS[name]} for name in ("head", "login")}
    gpus = {"gpu-1": {"host_key": KEYS["gpu-1"]}, "gpu-2": {"host_key": KEYS["gpu-2"], "interfaces": {"ib0": {"partition_key": "0x80AB"}}}}
    site = examined(tmp_path, {"hosts": {**hosts, **gpus}, "ranges": [ranged]}).spec.site
    assert site is not None
    found = {host.name: [(one.address, one.partition_key) for one in host.interfaces] for host in site.hosts if host.interfaces}
    assert found == {"gpu-1": [("10.40.0.11/24", "0x8001")], "gpu-2": [("10.40.0.12/24", "0x80ab")]}


def test_ranges_of_file_and_blueprint_both_count(tmp_path: pathlib.Path) -> None:
    """A fault in the second list is found in the file that has it."""
    inventory = own()
    (tmp_path / "hosts.yaml").write_text(yaml.safe_dump({"ranges": inventory.pop("ranges")}))
    more = {"hosts": inventory["hosts"], "ranges": [{"names": "spare-[1-2]", "addresses": "10.20.0.21+"}]}
    loaded = examined(tmp_path, {"file": "hosts.yaml", **more})
    assert [found.code for found in loaded.findings] == [Code.INVENTORY_UNUSED], "no pool has the spare ones"
    assert loaded.spec.site is not None
    assert [host.address for host in loaded.spec.site.hosts][2:] == ["10.20.0.11", "10.20.0.12"]
    (tmp_path / "hosts.yaml").write_text('ranges:\n- {names: "gpu-[1-2]", addresses: 10.20.0.11}\n')
    fault = next(one for one in faults(tmp_path, {"file": "hosts.yaml", **more}) if one.code == Code.ADDRESS_FORM)
    assert fault.where is not None
    assert (pathlib.Path(fault.where.file).name, fault.where.line) == ("hosts.yaml", 2)


def test_host_keys_come_from_known_hosts_by_name_or_address(tmp_path: pathlib.Path) -> None:
    rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAIQCAgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2enw=="
    lines = [
        f"head {KEYS['head']}",
        f"10.20.0.3,login.example.org {KEYS['login']} a comment",
        "# ours",
        "",
        f"gpu-1 {rsa}",
        f"gpu-1 {KEYS['gpu-1']}",
        f"gpu-2 {KEYS['gpu-2']}",
    ]
    (tmp_path / "keys").write_text("\n".join(lines))
    assert [host.host_key for host in hosts(tmp_path, {**own(keys=False), "host_keys": "keys"})] == list(KEYS.values())


def test_host_keys_of_another_port_are_written_with_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "keys").write_text("".join(f"[{ADDRESSES[name]}]:2222 {key}\n" for name, key in KEYS.items()))
    assert [host.host_key for host in hosts(tmp_path, {**own(keys=False), "host_keys": "keys", "port": 2222})] == list(KEYS.values())
    found = examined(tmp_path, {**own(keys=False), "host_keys": "keys"}).findings
    assert [one.code for one in found] == [Code.HOST_KEY_MISSING], "the keys are of another port"


UNREADABLE: dict[str, tuple[dict[str, Any], str, str, int]] = {
    "JSON cut off": ({"format": "netbox"}, '{"results": [\n{', "not JSON", 2),
    "one page of NetBox": ({"format": "netbox"}, json.dumps({"count": 9, "next": "http://n/?offset=1", "results": DEVICES}), "one page", 1),
    "no devices": ({"format": "netbox"}, '{"detail": "Invalid token"}', "no devices", 1),
    "INI": ({"format": "ansible"}, "[gpu]\ngpu-1\n", "INI", 1),
    "vault": ({"format": "ansible"}, "$ANSIBLE_VAULT;1.1;AES256\n6162\n", "encrypted", 1),
    "YAML of Ansible broken": ({"format": "ansible"}, "all:\n  hosts: {a: [}\n", "not YAML", 2),
    "no group": ({"format": "ansible", "group": "gqu"}, json.dumps(LISTED), "no group", 1),
    "not a mapping": ({}, "- gpu-1\n", "not a mapping", 1),
    "an inventory of an inventory": ({}, "file: other.yaml\n", "`file`", 1),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_found_at_its_place_and_alone(name: str, tmp_path: pathlib.Path) -> None:
    more, text, what, line = UNREADABLE[name]
    (tmp_path / "hosts").write_text(text)
    [fault] = faults(tmp_path, {"file": "hosts", **more})
    assert fault.code == Code.INVENTORY_UNREADABLE
    assert what in fault.what
    assert fault.where is not None
    assert (pathlib.Path(fault.where.file).name, fault.where.line) == ("hosts", line)


@pytest.mark.parametrize(
    ("line", "what"),
    [("|1|abc=|def= ssh-ed25519 AAAA", "hidden"), ("@cert-authority * ssh-ed25519 AAAA", "@cert-authority"), ("gpu-1 ssh-ed25519 AAAA", "not an SSH host key")],
)
def test_lines_of_known_hosts_that_say_nothing_of_a_host_are_refused(line: str, what: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "keys").write_text(f"head {KEYS['head']}\n{line}\n")
    [fault] = faults(tmp_path, {**own(), "host_keys": "keys"})
    assert what in fault.what
    assert fault.where is not None
    assert fault.where.line == 2


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["sh", "-c", "echo Token expired >&2; exit 3"], "it ended with status 3 and said: Token expired"),
        (["false"], "it ended with status 1 and said nothing"),
        (["./missing"], "the operating system reports: No such file or directory"),
    ],
)
def test_a_command_that_fails_says_why(command: list[str], why: str, tmp_path: pathlib.Path) -> None:
    [fault] = faults(tmp_path, {"command": command})
    assert (fault.code, fault.why) == (Code.INVENTORY_UNREADABLE, why)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "outside").write_text(yaml.safe_dump(own()))
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "hosts.yaml").symlink_to(tmp_path / "outside")
    [fault] = faults(folder, {"file": "hosts.yaml"})
    assert "is not a file in the blueprint's own folder" in fault.what


@pytest.mark.parametrize("target", ["local", "aws"])
def test_where_hosts_are_created_no_inventory_is_read_and_no_command_runs(target: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "lab.yaml"
    more = {"software": None, "pools": {"train": {"nodes": 2, "hosts": "gpu-[1-2]"}}, "access": {"hosts": ["login"], "allowed_cidrs": ["192.0.2.0/24"]}}
    file.write_text(yaml.safe_dump({**BLUEPRINT, **more, "inventory": {"command": ["touch", "ran"]}}))
    names = [group.hostlist for group in load.examine(str(file), target=target, stack="t", facts=FACTS).spec.host_groups]
    assert names == {"local": ["head", "login", "gpu-[1-2]"], "aws": ["control-0", "login-0", "train-[0-1]"]}[target]
    assert not (tmp_path / "ran").exists()


# What a change of the inventory does to a running cluster


def changed(folder: pathlib.Path, before: Mapping[str, Any], after: Mapping[str, Any], *, nodes: tuple[str, str]) -> dict[str, changes.Change]:
    old, new = (examined(folder, one, pools={"train": {"hosts": names}}).spec for one, names in zip((before, after), nodes, strict=True))
    return {one.path: one for one in changes.compare(json.loads(json.dumps(spec.as_record(old))), new) if not one.derived}


def test_a_host_that_joins_or_leaves_a_pool_is_adopted_or_released(tmp_path: pathlib.Path) -> None:
    joined = changed(tmp_path, own(), own(), nodes=("gpu-1", "gpu-[1-2]"))
    assert {path: (one.effect, one.key) for path, one in joined.items()} == {
        "slurm.node_sets.train.hosts.members": (Effect.IN_PLACE, "pools.train.hosts"),
        "site.hosts.gpu-2": (Effect.IN_PLACE, None),
    }
    left = changed(tmp_path, own(), own(), nodes=("gpu-[1-2]", "gpu-1"))
    assert {path: one.effect for path, one in left.items()} == {"slurm.node_sets.train.hosts.members": Effect.IN_PLACE, "site.hosts.gpu-2": Effect.ROLLING}


def test_a_value_that_a_host_gets_for_the_first_time_is_a_change(tmp_path: pathlib.Path) -> None:
    after = own()
    after["hosts"]["gpu-1"]["bmc"] = "10.30.0.11"
    assert list(changed(tmp_path, own(), after, nodes=("gpu-1", "gpu-1"))) == ["site.hosts.gpu-1.bmc"]


def test_a_site_comes_back_from_its_record_which_leaves_out_defaults(tmp_path: pathlib.Path) -> None:
    (tmp_path / "netbox.json").write_text(json.dumps(NETBOX["lists"]))
    cluster = examined(tmp_path, {"file": "netbox.json", "format": "netbox"}).spec
    record = json.loads(json.dumps(spec.as_record(cluster)))
    assert record["site"]["hosts"][0] == {"name": "head", "address": "10.20.0.2", "host_key": KEYS["head"]}
    assert spec.from_record(record) == cluster


def test_a_rehearsal_says_that_the_hosts_are_not_those_of_the_inventory(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump({**BLUEPRINT, "inventory": own()}))
    cluster = load.examine(str(file), target="local", stack="t", facts=FACTS).spec
    assert any("hosts of the inventory are containers" in sentence for sentence in cluster.simulated)
    addresses = [group.first_address for group in cluster.host_groups]
    assert all(ipaddress.IPv4Address(address) in ipaddress.IPv4Network(cluster.network.cidr) for address in addresses)
    assert cluster.site is None


def test_a_comparison_of_targets_reads_the_inventory_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "hosts.yaml").write_text(yaml.safe_dump(own()))
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump({**BLUEPRINT, "inventory": {"file": "hosts.yaml"}}))
    [side] = compare.compare(str(file), targets=["metal"], stack="t", facts=FACTS)
    assert [found for found in side.findings if found.level is finding.Level.ERROR] == []
