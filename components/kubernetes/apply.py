"""Bring a set of objects into a cluster, and out of it again: in order, with progress, and from wherever an earlier run was interrupted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..provider.kind import Refused, Work
from . import manifests, readiness
from .api import MANAGER, Api, ApiError, Conflict, Key, Object, conflicts, key_of

BY_HAND = (MANAGER, "kubectl", "Mozilla", "k9s", "Lens", "headlamp")
"""Beginnings of field managers behind which a person is: `up` restores what somebody changed by hand, and says so; what a controller owns it leaves alone.
An earlier version of this project, or another way in which it writes, is no other writer."""
READY_WITHIN_S = 300
GONE_WITHIN_S = 120
EVERY_S = 0.25
OWN_METADATA = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")
"""Metadata that the server writes."""


def apply(
    api: Api, wanted: Sequence[dict[str, Any]], work: Work, *, title: str, force: bool = False, first: Mapping[Key, Callable[[], Object]] | None = None
) -> None:
    """Apply manifests in order; definitions are established before objects of their kinds follow, controllers ready before what they validate.

    Args:
        first: what an object gets that holds nothing yet; later its controller writes it.
    Raises:
        Refused: the API server refused one, another manager owns fields of it, or it is being deleted and does not go.
    """
    steps = sorted({manifests.step_of(one["kind"]) for one in wanted})
    done = 0
    for step in steps:
        for manifest in (one for one in wanted if manifests.step_of(one["kind"]) == step):
            work.check()
            done += 1
            key = key_of(manifest)
            work.say(f"{title}: {done} of {len(wanted)}, {key}")
            stored = apply_one(api, manifest, work, force=force)
            if stored["metadata"].get("deletionTimestamp"):
                # Whatever is written into an object that is being deleted goes with it: an account that was taken out and comes back, for example.
                try:
                    wait_gone(api, [key], work, title=title, within_s=GONE_WITHIN_S)
                except TimeoutError:
                    raise Refused(deletion_page(stored)) from None
                stored = apply_one(api, manifest, work, force=force)
            if first and key in first and not stored.get("data"):
                api.merge(key, first[key]())
        wait_ready(api, awaited(wanted, step), work, title=title)


def awaited(wanted: Sequence[Object], step: int) -> list[Key]:
    """Name what must be ready after a step: what the next steps need at once, and after the last one of `manifests.ORDER` all that controllers serve. Pure."""
    last = max((found for one in wanted if (found := manifests.step_of(one["kind"])) < len(manifests.ORDER)), default=-1)
    is_last = step == last
    kinds = (*manifests.WORKLOADS, "APIService") if is_last else ()
    needed = [key_of(one) for one in wanted if manifests.step_of(one["kind"]) == step and one["kind"] in ("Namespace", manifests.DEFINITION)]
    return [*needed, *(key_of(one) for one in wanted if one["kind"] in kinds)]


def apply_one(api: Api, manifest: Object, work: Work, *, force: bool = False) -> dict[str, Any]:
    """Apply one manifest; fields that somebody changed by hand are taken back."""
    try:
        return api.apply(manifest, force=force)
    except ApiError as error:
        owned = conflicts(error)
        if not owned:
            raise Refused(refusal_page(manifest, error)) from None
        if not all(one.manager.startswith(BY_HAND) for one in owned):
            raise Refused(conflict_page(manifest, owned)) from None
        result = api.apply(manifest, force=True)
        work.tell(f"restored {key_of(manifest)}, which was changed by hand: {', '.join(sorted({one.field for one in owned}))}")
        return result


def wait_ready(api: Api, keys: Sequence[Key], work: Work, *, title: str, within_s: float = READY_WITHIN_S) -> None:
    """Wait until objects are ready, and say which are not.

    Raises:
        RuntimeError: they were not in time; the text says what the pods say.
    """
    left = dict.fromkeys(key for key in keys if key.kind != "CronJob")
    texts: dict[Key, str] = {}

    def ready() -> bool:
        for key in list(left):
            texts[key] = readiness.waiting_for(api.get(key))
            if not texts[key]:
                del left[key]
        if left:
            first = next(iter(left))
            work.say(f"{title}: waiting for {first}: {texts[first]}{f', and {len(left) - 1} more' if len(left) > 1 else ''}")
        return not left

    try:
        work.wait_until(ready, awaiting=title, within_s=within_s, every_s=EVERY_S)
    except TimeoutError:
        first = next(iter(left))
        trouble = _trouble(api, first)
        raise RuntimeError(f"{title}: {first} is not ready after {within_s:.0f} s: {texts[first]}{f'; {trouble}' if trouble else ''}") from None


def wait_gone(api: Api, keys: Sequence[Key], work: Work, *, title: str, within_s: float) -> None:
    """Wait until none of the objects exists.

    Raises:
        TimeoutError: one was still there after that time.
    """
    left = list(keys)

    def gone() -> bool:
        left[:] = [key for key in left if api.get(key) is not None]
        if left:
            work.say(f"{title}: waiting until {left[0]} is gone")
        return not left

    work.wait_until(gone, awaiting=title, within_s=within_s, every_s=EVERY_S)


def prune(api: Api, *, group: str, wanted: Iterable[Object], recorded: Iterable[Key], work: Work) -> list[Key]:
    """Delete what an earlier version of an add-on applied and this one doesn't; give what was deleted.

    Definitions stay: deleting one deletes all objects of its kind, which are users' own.
    """
    kept = {key_of(one) for one in wanted}
    kinds = {(key.api_version, key.kind) for key in (*kept, *recorded)}
    labelled = [key_of(one) for version, kind in sorted(kinds) for one in api.list(version, kind, labels=f"{manifests.PART_OF}={group}")]
    surplus = [key for key in dict.fromkeys((*labelled, *recorded)) if _same(key) not in {_same(one) for one in kept}]
    gone = []
    for key in sorted(surplus, key=lambda one: -manifests.step_of(one.kind)):
        work.check()
        if key.kind == manifests.DEFINITION:
            if api.get(key) is not None:
                work.tell(f"{key} is no part of this version of {group}; it stays, as deleting it would delete all objects of its kind")
        elif api.delete(key):
            gone.append(key)
    return gone


def delete(api: Api, keys: Sequence[Key], work: Work, *, title: str) -> None:
    """Delete objects against the order in which they were applied: first those of the kinds that are defined here, while their controllers can still clean up."""
    definitions = [key for key in keys if key.kind == manifests.DEFINITION]
    of_kinds = [one for key in definitions for one in _instances(api, key)]
    _delete_all(api, of_kinds, work, title=f"{title}: objects of its kinds", finish=True)
    webhooks = [key for key in keys if key.kind.endswith("WebhookConfiguration") or key.kind == "APIService"]
    _delete_all(api, webhooks, work, title=title)
    rest = [key for key in keys if key not in webhooks and key not in definitions]
    for step in sorted({manifests.step_of(key.kind) for key in rest}, reverse=True):
        _delete_all(api, [key for key in rest if manifests.step_of(key.kind) == step], work, title=title)
    _delete_all(api, definitions, work, title=title)


def difference(api: Api, manifest: Object) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Give an object as it is and as applying its manifest would make it; equal: it is as wanted. The server judges, by dry run.

    Raises:
        ApiError: the server refuses the manifest.
    """
    found = api.get(key_of(manifest))
    wanted = api.apply(manifest, dry_run=True, force=True)
    return (None if found is None else comparable(found)), comparable(wanted)


def comparable(found: Object) -> dict[str, Any]:
    """Give an object without what the server writes into it."""
    metadata = {name: value for name, value in found["metadata"].items() if name not in OWN_METADATA}
    return {**{name: value for name, value in found.items() if name != "status"}, "metadata": metadata}


def refusal_page(manifest: Object, error: ApiError) -> str:
    """Say that the API server refuses a manifest, and what to do."""
    causes = [f"  {field}: {message}" if field else f"  {message}" for field, message in error.causes]
    return "\n".join(
        [
            f"the API server refuses {key_of(manifest)}",
            f"  why: {error.message}",
            *causes,
            "  do:  correct what the manifest says, or choose versions that fit each other (docs/kubernetes.md lists them)",
        ]
    )


def conflict_page(manifest: Object, owned: Sequence[Conflict]) -> str:
    """Say who owns fields of an object, and how to take them back."""
    key = key_of(manifest)
    namespace = f" --namespace {key.namespace}" if key.namespace else ""
    return "\n".join(
        [
            f"{key} has fields that others own",
            *(f"  {one.manager} owns {one.field}" for one in owned),
            "  why: two writers of one field undo each other's work",
            f"  do:  stop that writer, then run `clusterwright up`; to begin again, delete the object first: "
            f"clusterwright kubectl -- delete {key.kind.lower()}{namespace} {key.name}",
        ]
    )


def deletion_page(found: Object) -> str:
    """Say that an object which is wanted is being deleted and doesn't go."""
    key = key_of(found)
    namespace = f" --namespace {key.namespace}" if key.namespace else ""
    return "\n".join(
        [
            f"{key} is being deleted since {found['metadata']['deletionTimestamp']} and does not go",
            "  why: a finalizer, of the object or of something in it, waits for a controller",
            f"  do:  see which (clusterwright kubectl -- get {key.kind.lower()}{namespace} {key.name} --output yaml), end what it waits for, then run `clusterwright up`",
        ]
    )


def _instances(api: Api, definition: Key) -> list[Key]:
    found = api.get(definition)
    if found is None:
        return []
    names, group = found["spec"]["names"], found["spec"]["group"]
    version = next(one["name"] for one in found["spec"]["versions"] if one.get("storage"))
    return [key_of(one) for one in api.list(f"{group}/{version}", names["kind"])]


def _delete_all(api: Api, keys: Sequence[Key], work: Work, *, title: str, finish: bool = False) -> None:
    """Delete objects and wait until none is left.

    Args:
        finish: remove the finalizers of what stays: the controller that should is gone.
    """
    for key in keys:
        work.check()
        work.say(f"{title}: deleting {key}")
        api.delete(key, foreground=key.kind in manifests.WORKLOADS)
    try:
        wait_gone(api, keys, work, title=title, within_s=GONE_WITHIN_S / 4 if finish else GONE_WITHIN_S)
    except TimeoutError:
        if not finish:
            raise
        left = [key for key in keys if api.get(key) is not None]
        for key in left:
            work.tell(f"{key} was not cleaned up by its controller; removed as it is")
            api.merge(key, {"metadata": {"finalizers": None}})
        wait_gone(api, left, work, title=title, within_s=GONE_WITHIN_S)


def _trouble(api: Api, key: Key) -> str:
    if key.kind not in manifests.WORKLOADS:
        return ""
    found = api.get(key) or {}
    chosen: Mapping[str, str] = ((found.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    if not chosen:
        return ""
    return readiness.pod_trouble(api.list("v1", "Pod", namespace=key.namespace, labels=",".join(f"{name}={value}" for name, value in chosen.items())))


def _same(key: Key) -> tuple[str, ...]:
    """Name an object whatever version of its group it is read in."""
    return (key.api_version.rpartition("/")[0], key.kind, key.namespace, key.name)
