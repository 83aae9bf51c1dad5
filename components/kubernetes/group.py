"""A set of objects that are applied, compared and deleted together: what add-ons and the blueprint's own objects have in common."""

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ..provider.kind import UNKNOWN, Kind, PartlyMade, Refused, Unobserved, Values, Work
from . import apply, manifests
from .api import NOT_FOUND, Api, ApiError, Key, Object, Unreachable, key_of
from .kubeconfig import KubeconfigInvalid

CONNECTED_WITHIN_S = 60
"""How long an operation waits for an API server that just started."""
PREVIEW_TIMEOUT_S = 5
"""A preview does not wait for an API server that is down."""


class GroupInputs(Protocol):
    @property
    def kubeconfig(self) -> str: ...


Inputs = TypeVar("Inputs", bound=GroupInputs)


class Group(Kind[Inputs], Generic[Inputs]):
    """Objects with one label, which names the group (`manifests.PART_OF`)."""

    @abstractmethod
    def title(self, inputs: Inputs) -> str:
        """Name the group for progress and pages."""

    @abstractmethod
    def wanted(self, inputs: Inputs) -> list[dict[str, Any]] | None:
        """Give the manifests in order; None: they are not known before the run.

        Raises:
            Refused: they can't be had.
        """

    def first(self, inputs: Inputs, wanted: Sequence[Object]) -> Mapping[Key, Callable[[], Object]]:
        """Give what makes the first content of objects whose controllers write them later."""
        return {}

    def check(self, inputs: Inputs) -> Iterator[tuple[str, str]]:
        """Let the API server validate every manifest by dry run, as far as it can before the run: what is in namespaces or of kinds that don't exist yet has to wait."""
        try:
            wanted = self.wanted(inputs)
            api = Api(inputs.kubeconfig, timeout_s=PREVIEW_TIMEOUT_S)
        except Refused as refused:
            yield "", str(refused)
            return
        except KubeconfigInvalid:
            return  # written by the same run
        with contextlib.suppress(Unreachable):  # started by the same run
            for manifest in wanted or ():
                if page := _refusal(api, manifest):
                    yield "", page

    def expected(self, inputs: Inputs) -> Values:
        """Give what is recorded when all is well: also of which cluster, since one that the same run created again has none of the recorded objects."""
        wanted = self.wanted(inputs)
        if wanted is None:
            return {"content": UNKNOWN, "objects": UNKNOWN, "changed": [], "cluster": UNKNOWN}
        return {"content": manifests.fingerprint(wanted), "objects": _names(wanted), "changed": [], "cluster": _present_cluster(inputs)}

    def read(self, inputs: Inputs, outputs: Values) -> Values | None:
        """Compare every object with what applying its manifest would make."""
        try:
            api = Api(inputs.kubeconfig, timeout_s=PREVIEW_TIMEOUT_S)
            if outputs.get("cluster") not in (None, api.cluster_id()):
                return None  # the cluster was created again, without these objects
            wanted = {manifests.written(key_of(one)): one for one in self.wanted(inputs) or ()}
            there, changed = [], []
            for name in outputs.get("objects") or wanted:
                key = manifests.parsed(name)
                if name in wanted:
                    found, applied = apply.difference(api, wanted[name])
                    if found is not None and found != applied:
                        changed.append(str(key))
                else:
                    found = api.get(key)
                if found is not None:
                    there.append(name)
        except (Unreachable, KubeconfigInvalid, ApiError, Refused) as error:
            raise Unobserved(f"{self.title(inputs)} was not compared with the cluster, and its record stays: {error}") from error
        return {"objects": there, "changed": changed} if there else None

    def create(self, inputs: Inputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: Inputs, outputs: Values, work: Work) -> Values:
        wanted = self.wanted(inputs)
        if wanted is None:
            raise Refused(f"the manifests of {self.title(inputs)} are not there")
        api = connected(inputs.kubeconfig, work)
        cluster = api.cluster_id()
        recorded = _recorded(outputs) if outputs.get("cluster") == cluster else []
        try:
            apply.apply(api, wanted, work, title=self.title(inputs), first=self.first(inputs, wanted))
            apply.prune(api, group=self.identity(inputs), wanted=wanted, recorded=recorded, work=work)
        except (Unreachable, ApiError, Refused, RuntimeError) as error:
            # What this version dropped may still be there; the next run finds it by the record.
            kept = dict.fromkeys((*_names(wanted), *map(manifests.written, recorded)))
            raise PartlyMade(str(error), outputs={"content": "", "objects": [*kept], "changed": [], "cluster": cluster}) from error
        return {"content": manifests.fingerprint(wanted), "objects": _names(wanted), "changed": [], "cluster": cluster}

    def delete(self, inputs: Inputs, outputs: Values, work: Work) -> None:
        api = connected(inputs.kubeconfig, work)
        if outputs.get("cluster") not in (None, api.cluster_id()):
            return
        keys = _recorded(outputs) or [key_of(one) for one in self.wanted(inputs) or ()]
        apply.delete(api, keys, work, title=self.title(inputs))


def connected(kubeconfig: str, work: Work) -> Api:
    """Give the API server as soon as it answers.

    Raises:
        Refused: it didn't in time, or the kubeconfig can't be used.
    """
    try:
        api = Api(kubeconfig)
    except KubeconfigInvalid as error:
        raise Refused(f"the kubeconfig of the cluster can't be used\n  why: {error}\n  do:  run `clusterwright up`, which writes it again") from None
    last = ""

    def answers() -> bool:
        nonlocal last
        try:
            api.cluster_id()
        except (Unreachable, ApiError) as error:
            last = str(error)
            work.say(f"waiting for the API server: {last}")
            return False
        return True

    try:
        work.wait_until(answers, awaiting="the API server", within_s=CONNECTED_WITHIN_S, every_s=0.5)
    except TimeoutError:
        raise Refused(
            f"the API server of the cluster does not answer\n  why: {last}\n  do:  look at the control plane with `clusterwright drift`; `clusterwright up` starts a host that is gone"
        ) from None
    return api


def _present_cluster(inputs: GroupInputs) -> Any:
    """Tell which cluster answers now; unknown: none does yet."""
    try:
        return Api(inputs.kubeconfig, timeout_s=PREVIEW_TIMEOUT_S).cluster_id()
    except (Unreachable, ApiError, KubeconfigInvalid):
        return UNKNOWN


def _refusal(api: Api, manifest: dict[str, Any]) -> str:
    """Say why the API server refuses a manifest; empty: it does not, or can't be asked yet."""
    key = key_of(manifest)
    if not api.is_known(key.api_version, key.kind):
        return ""
    try:
        api.apply(manifest, dry_run=True, force=True)
    except ApiError as error:
        is_early = error.status == NOT_FOUND or error.reason == "InternalError"  # no namespace, or a webhook whose controller doesn't run yet
        return "" if is_early else apply.refusal_page(manifest, error)
    return ""


def _names(wanted: Sequence[dict[str, Any]]) -> list[str]:
    return [manifests.written(key_of(one)) for one in wanted]


def _recorded(outputs: Values) -> list[Key]:
    return [manifests.parsed(one) for one in outputs.get("objects") or ()]
