import re

import pytest

from blueprints import catalog
from blueprints.catalog import files

PROFILE = re.compile(r"(?P<slices>[1-7])g\.(?P<memory>[0-9]+)gb(\+me|\+gfx)?")
EVERY = [pytest.param(accelerator, id=name) for name, accelerator in catalog.accelerators().items()]

# NVIDIA's MIG User Guide, table of supported GPUs: the most instances.
MOST_INSTANCES = {"a100": 7, "b200": 7, "b300": 7, "gb200": 7, "h100": 7, "h200": 7, "rtx-pro-6000": 4}


@pytest.mark.parametrize(
    ("target", "machine", "nominal_gb"),
    [
        ("aws", "g6.xlarge", 24),
        ("gcp", "g2-standard-4", 24),
        ("aws", "g6e.xlarge", 48),
        ("aws", "p4d.24xlarge", 40),
        ("aws", "p4de.24xlarge", 80),
        ("aws", "p6e-gb200.36xlarge", 186),
    ],
)
def test_the_memory_that_the_vendor_names(target: str, machine: str, nominal_gb: int) -> None:
    entry = catalog.machine(target, machine)
    assert catalog.accelerators()[str(entry.accelerator)].nominal_gb(entry.gpu_memory_gib or 0) == nominal_gb


def test_more_memory_than_any_source_names_is_the_most_of_them() -> None:
    assert catalog.accelerators()["a100"].nominal_gb(96) == 80


@pytest.mark.parametrize("accelerator", EVERY)
def test_an_accelerator_is_complete(accelerator: catalog.Accelerator) -> None:
    assert accelerator.architecture in ("ampere", "ada", "hopper", "blackwell")
    assert accelerator.source in catalog.sources()
    assert accelerator.memory_gb == tuple(sorted(set(accelerator.memory_gb))) != ()
    assert all(str(memory) in accelerator.description for memory in accelerator.memory_gb if accelerator.per_node != (4,))


@pytest.mark.parametrize("accelerator", EVERY)
def test_mig_profiles_fit_on_the_gpu(accelerator: catalog.Accelerator) -> None:
    most = MOST_INSTANCES.get(accelerator.name, 0)
    assert max((profile.per_gpu for profile in accelerator.mig), default=0) == most
    for profile in accelerator.mig:
        match = PROFILE.fullmatch(profile.name)
        assert match is not None
        assert profile.memory_gb == int(match["memory"])
        assert profile.gpu_memory_gb in accelerator.memory_gb
        assert profile.per_gpu * int(match["slices"]) <= most
        # Memory is cut into eighths, rounded up to whole GB each; GB200 shows 189 of its nominal 186.
        assert profile.per_gpu * profile.memory_gb <= profile.gpu_memory_gb * 1.05
    for memory in accelerator.memory_gb:
        names = [profile.name for profile in accelerator.mig if profile.gpu_memory_gb == memory]
        assert len(names) == len(set(names))
        assert bool(names) == (most > 0)


def test_the_same_profile_fits_more_often_on_the_larger_gpu() -> None:
    counts = {profile.gpu_memory_gb: profile.per_gpu for profile in catalog.accelerators()["a100"].mig if profile.name == "1g.10gb"}
    assert counts == {40: 4, 80: 7}


def test_other_gpus_are_none_of_the_catalogue_s_own() -> None:
    assert not [name for name in catalog.accelerators() if catalog.is_other_gpu(name)]
    assert all(catalog.is_other_gpu(name) for name in ("v100", "Tesla T4", "nvidia-tesla-p100", "MI300X"))
    assert not any(catalog.is_other_gpu(name) for name in ("h1000", "a100-80gb", "v1000", ""))
    assert catalog.source(files.mapping("other-gpus")["source"]).where
