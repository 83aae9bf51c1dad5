"""Parameters that the controller runs with, compared with slurm.conf. Pure."""

from collections.abc import Iterator, Mapping

from blueprints.finding import Finding
from blueprints.finding.subject import Parameter
from blueprints.finding.values import Setting

from ..codes import Code
from ..finding import drift
from . import parse

RECONFIGURE = "`scontrol reconfigure` on the controller reads slurm.conf again; if slurm.conf was changed, `clusterwright up` writes it again"


def findings(conf: parse.Conf, live: Mapping[str, str]) -> Iterator[Finding]:
    """Compare parameter by parameter."""
    configured = {**parse.RUNTIME_DEFAULTS, **{name: value for name, value in conf.parameters.items() if name not in parse.NOT_SHOWN}}
    names = {name.casefold(): name for name in live}
    for name, value in sorted(configured.items()):
        actual = live.get(names.get(name.casefold(), name))
        if actual is not None and not parse.same(name, value, actual):
            what = "the controller runs with another value than was configured"
            wanted = Setting(value)
            yield drift(Code.CONFIG_VALUE, Parameter("slurmctld", name), what, remedy=RECONFIGURE, desired=wanted, recorded=wanted, actual=actual)
