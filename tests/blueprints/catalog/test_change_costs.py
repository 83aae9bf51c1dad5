"""What changes cost otherwise on a target: known targets, known offerings of them, and no line that says what the field says itself."""

from blueprints import catalog
from blueprints.catalog import files
from blueprints.plan import field_costs
from blueprints.spec.cost import Effect


def test_every_entry_is_of_a_target_and_its_offerings() -> None:
    assert files.mapping("change_costs").keys() <= set(catalog.target_names())
    for target in catalog.target_names():
        known = {one.name for several in catalog.target(target).offerings.values() for one in several}
        assert {name for entry in catalog.change_costs(target) for name in entry.offerings} <= known


def test_every_entry_says_something_and_no_effect_is_without_a_reason() -> None:
    for target in catalog.target_names():
        for entry in catalog.change_costs(target):
            assert entry.fields
            assert entry.effect or entry.given or entry.is_anew
            assert not entry.effect or entry.why
            assert entry.effect or not entry.why or entry.is_anew
            assert not entry.effect or entry.effect in set(Effect)
            assert not (entry.effect and (entry.given or entry.is_anew)), "another effect leaves nothing of the field's own rule"


def test_every_override_differs_from_what_the_field_says() -> None:
    for target in catalog.target_names():
        for path, rule in field_costs.overrides(target, catalog.offering_names()).items():
            assert rule != field_costs.FIELDS[path], f"{target}: {path}"


def test_no_field_is_overridden_twice_for_one_offering() -> None:
    for target in catalog.target_names():
        for offering in ("", *catalog.offering_names()):
            fields = [field for one in catalog.change_costs(target) if (offering in one.offerings if offering else not one.offerings) for field in one.fields]
            assert len(fields) == len(set(fields)), f"{target}, {offering}"


def test_an_offering_that_does_not_run_the_scheduler_overrides_nothing() -> None:
    assert "slurm.control.count" in field_costs.overrides("local", ("slurm_hosts",))
    assert "slurm.control.count" not in field_costs.overrides("local", ("kubernetes_hosts",))
    assert field_costs.rules("local", ("kubernetes_hosts",))["slurm.control.count"] == field_costs.FIELDS["slurm.control.count"]
    assert "name" in field_costs.overrides("local", ())
