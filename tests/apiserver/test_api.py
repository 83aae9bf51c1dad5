"""The client of API servers, against a real one."""

import dataclasses
import re
import threading
from typing import Any

import pytest

from components.kubernetes import api as apis
from components.kubernetes import apply, group
from components.kubernetes.api import Api, Key
from components.kubernetes.objects import Objects, ObjectsInputs
from components.provider import codec
from components.provider.kind import UNKNOWN, PartlyMade, Refused, Unobserved, Work
from components.provider.servicer import difference
from tests.apiserver import cluster, works

pytestmark = pytest.mark.engine


def settings(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def objects(kubernetes: cluster.Cluster, name: str, *manifests: dict[str, Any]) -> ObjectsInputs:
    return ObjectsInputs(name, kubernetes.kubeconfig, tuple(manifests))


def names(api: Api, group_name: str) -> set[str]:
    return {one["metadata"]["name"] for one in api.list("v1", "ConfigMap", labels=f"clusterwright.io/part-of={group_name}")}


def test_a_field_that_does_not_exist_is_refused_by_its_name(api: Api) -> None:
    with pytest.raises(apis.ApiError) as raised:
        api.apply({**settings("strict"), "dta": {}})
    assert ".dta" in raised.value.message


def test_a_dry_run_stores_nothing(api: Api) -> None:
    api.apply(settings("dry"), dry_run=True)
    assert api.get(Key("v1", "ConfigMap", "default", "dry")) is None


def test_an_unknown_kind_has_no_objects(api: Api) -> None:
    assert api.list("example.org/v1", "Nothing") == []
    assert api.get(Key("example.org/v1", "Nothing", "", "a")) is None
    assert not api.is_known("example.org/v1", "Nothing")


def test_another_writer_of_a_field_is_named(api: Api) -> None:
    api.apply(settings("shared", colour="red"))
    path = "/api/v1/namespaces/default/configmaps/shared"
    api.request("PATCH", path, query={"fieldManager": "operator", "force": "true"}, body=settings("shared", colour="blue"), content_type=apis.APPLY)
    with pytest.raises(apis.ApiError) as raised:
        api.apply(settings("shared", colour="red"))
    assert apis.conflicts(raised.value) == (apis.Conflict("operator", ".data.colour"),)
    with pytest.raises(Refused, match=re.escape("operator owns .data.colour")):
        apply.apply_one(api, settings("shared", colour="red"), works.Notes().work())


FINALIZER = "example.org/kept"


def deleted_but_held(api: Api, name: str) -> Key:
    """Make a ConfigMap that is being deleted and stays until its finalizer is taken away."""
    key = apis.key_of(api.apply(settings(name, colour="red")))
    api.merge(key, {"metadata": {"finalizers": [FINALIZER]}})
    api.delete(key)
    return key


def test_what_is_being_deleted_is_made_again_once_it_is_gone(api: Api) -> None:
    key = deleted_but_held(api, "coming-back")
    before = (api.get(key) or {})["metadata"]["uid"]

    def show(text: str, is_kept: bool) -> None:
        if "is gone" in text:
            api.merge(key, {"metadata": {"finalizers": None}})

    work = Work(show=show, stopping=threading.Event(), timeout_s=60)
    apply.apply(api, [settings("coming-back", colour="blue")], work, title="test")
    found = api.get(key) or {}
    assert (found["data"], "deletionTimestamp" in found["metadata"]) == ({"colour": "blue"}, False)
    assert found["metadata"]["uid"] != before


def test_what_is_being_deleted_and_does_not_go_is_named(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "GONE_WITHIN_S", 0.5)
    key = deleted_but_held(api, "held")
    with pytest.raises(Refused, match="ConfigMap default/held is being deleted since"):
        apply.apply(api, [settings("held", colour="blue")], works.Notes().work(), title="test")
    api.merge(key, {"metadata": {"finalizers": None}})


def test_what_somebody_changed_by_hand_is_restored_and_named(api: Api) -> None:
    api.apply(settings("by-hand", colour="red"))
    path = "/api/v1/namespaces/default/configmaps/by-hand"
    api.request("PATCH", path, query={"fieldManager": "kubectl-edit"}, body={"data": {"colour": "blue"}}, content_type="application/merge-patch+json")
    notes = works.Notes()
    assert apply.apply_one(api, settings("by-hand", colour="red"), notes.work())["data"] == {"colour": "red"}
    assert notes.kept == ["restored ConfigMap default/by-hand, which was changed by hand: .data.colour"]


def test_objects_are_created_changed_compared_and_deleted(kubernetes: cluster.Cluster, api: Api) -> None:
    kind, work = Objects(), works.Notes().work()
    first, second = objects(kubernetes, "life", settings("one"), settings("two")), objects(kubernetes, "life", settings("two", a="b"), settings("three"))
    made = kind.create(first, work)
    assert kind.read(first, made) == {"objects": made["objects"], "changed": []}
    assert made["content"] == kind.expected(first)["content"]
    changed = kind.update(second, made, work)
    assert names(api, "life") == {"two", "three"}
    api.merge(Key("v1", "ConfigMap", "default", "two"), {"data": {"a": "other"}})
    assert (kind.read(second, changed) or {})["changed"] == ["ConfigMap default/two"]
    kind.delete(second, changed, work)
    assert names(api, "life") == set()
    assert kind.read(second, changed) is None


def test_what_an_interrupted_update_left_is_pruned_by_the_next(kubernetes: cluster.Cluster, api: Api) -> None:
    kind, work = Objects(), works.Notes().work()
    made = kind.create(objects(kubernetes, "cut", settings("old")), work)
    broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name", "namespace": "default"}}
    with pytest.raises(PartlyMade) as raised:
        kind.update(objects(kubernetes, "cut", settings("a-new"), broken), made, work)
    assert "refuses ConfigMap default/Not_A_Name" in str(raised.value)
    kind.update(objects(kubernetes, "cut", settings("a-new")), raised.value.outputs, work)
    assert names(api, "cut") == {"a-new"}


def test_the_preview_finds_what_the_server_refuses(kubernetes: cluster.Cluster, api: Api) -> None:
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "default"}, "spec": {"ports": [{"port": 99999}]}}
    [(_, page)] = Objects().check(objects(kubernetes, "wrong", settings("fine"), wrong))
    assert "the API server refuses Service default/a" in page
    assert api.get(Key("v1", "ConfigMap", "default", "fine")) is None
    early = {**settings("early"), "metadata": {"name": "early", "namespace": "not-yet"}}
    unknown = {"apiVersion": "example.org/v1", "kind": "Nothing", "metadata": {"name": "a"}}
    assert [*Objects().check(objects(kubernetes, "early", early, unknown))] == []


def test_a_record_stays_while_the_server_is_down(kubernetes: cluster.Cluster) -> None:
    inputs = objects(kubernetes, "down", settings("down"))
    made = Objects().create(inputs, works.Notes().work())
    kubernetes.stop("apiserver")
    try:
        with pytest.raises(Unobserved, match="its record stays: no answer from the API server"):
            Objects().read(inputs, made)
        assert [*Objects().check(inputs)] == []
        assert Objects().expected(inputs)["cluster"] is UNKNOWN, "whether it is another cluster shows when the server answers"
    finally:
        kubernetes.start("apiserver")
        kubernetes.wait_ready()
    assert Objects().read(inputs, made) == {"objects": made["objects"], "changed": []}


def test_objects_of_a_cluster_that_was_created_again_are_gone(kubernetes: cluster.Cluster) -> None:
    inputs = objects(kubernetes, "other", settings("other"))
    made = Objects().create(inputs, works.Notes().work())
    assert Objects().read(inputs, {**made, "cluster": "another"}) is None


def test_objects_are_applied_again_when_the_same_run_created_the_cluster_again(kubernetes: cluster.Cluster, api: Api) -> None:
    """The control plane was lost: the refresh before the run met no API server and kept the record."""
    kind, work, inputs = Objects(), works.Notes().work(), objects(kubernetes, "lost", settings("lost"))
    wanted = codec.decode(codec.encode(dataclasses.asdict(inputs)))
    recorded = codec.decode(codec.encode({**wanted, **kind.create(inputs, work), "complete": True}))
    assert difference(kind, recorded, wanted) == {}
    lost = {**recorded, "cluster": "another"}
    api.delete(Key("v1", "ConfigMap", "default", "lost"))
    assert difference(kind, lost, wanted) == {"cluster": False}
    kind.update(inputs, lost, work)
    assert names(api, "lost") == {"lost"}


def test_a_definition_is_established_before_its_objects_and_its_objects_go_first(kubernetes: cluster.Cluster, api: Api) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Cluster",
            "names": {"plural": "boxes", "kind": "Box"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    box = {"apiVersion": "example.org/v1", "kind": "Box", "metadata": {"name": "a", "finalizers": ["example.org/nobody"]}, "spec": {"size": 1}}
    inputs, notes = objects(kubernetes, "boxes", box, definition), works.Notes()
    made = Objects().create(inputs, notes.work())
    assert api.get(Key("example.org/v1", "Box", "", "a")) is not None
    apply_within, apply.GONE_WITHIN_S = apply.GONE_WITHIN_S, 8
    try:
        Objects().delete(inputs, made, notes.work())
    finally:
        apply.GONE_WITHIN_S = apply_within
    assert notes.kept == ["Box a was not cleaned up by its controller; removed as it is"]
    assert api.get(Key("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "boxes.example.org")) is None


def test_a_server_that_never_answers_is_one_page(kubernetes: cluster.Cluster) -> None:
    nowhere = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", kubernetes.kubeconfig)
    waited, group.CONNECTED_WITHIN_S = group.CONNECTED_WITHIN_S, 1
    try:
        with pytest.raises(Refused, match="the API server of the cluster does not answer"):
            Objects().create(ObjectsInputs("a", nowhere, (settings("a"),)), works.Notes().work())
    finally:
        group.CONNECTED_WITHIN_S = waited


def test_a_kubeconfig_of_another_cluster_is_not_trusted(kubernetes: cluster.Cluster, tmp_path: Any) -> None:
    cluster._make_authority(tmp_path, names=("other",))
    other = cluster._kubeconfig(int(kubernetes.api().server.rpartition(":")[2]), (tmp_path / "ca.crt").read_bytes(), "token")
    with pytest.raises(apis.Unreachable, match="perhaps the kubeconfig belongs to another cluster"):
        Api(other).cluster_id()


def test_an_object_that_holds_nothing_gets_its_first_content_once(kubernetes: cluster.Cluster, api: Api) -> None:
    served = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "served", "namespace": "default"}}
    key, asked = Key("v1", "Secret", "default", "served"), []

    def content() -> dict[str, Any]:
        asked.append(key)
        return {"data": {"tls.crt": "YQ=="}}

    for _ in range(2):
        apply.apply(api, [served], works.Notes().work(), title="served", first={key: content})
    assert (api.get(key) or {})["data"] == {"tls.crt": "YQ=="}
    assert asked == [key]
    found, wanted = apply.difference(api, served)
    assert found == wanted
