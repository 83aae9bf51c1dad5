"""What acceptance reads from pods that tried the GPUs of a node, or trained."""

import json
from typing import Any

import pytest

from components.kubernetes import confinement, training


def said(*whys: str) -> str:
    return "".join(f"cat: /host-dev/nvidia{number}: {why}\n" for number, why in enumerate(whys) if why)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (said("No such device or address", "Operation not permitted", "Operation not permitted", "Operation not permitted"), "1 of 4 open, 3 refused"),
        (said("", "Invalid argument", "Operation not permitted", "Permission denied"), "2 of 4 open, 2 refused"),
        (said(*["Operation not permitted"] * 4), "0 of 4 open, 4 refused"),
        (said("No such file or directory", *["Operation not permitted"] * 3), "the node lacks /dev/nvidia0"),
    ],
)
def test_a_device_counts_as_open_unless_the_kernel_refuses_it(message: str, wanted: str) -> None:
    assert confinement.read(message, 4) == wanted


def learned(**changes: Any) -> dict[str, Any]:
    return {"ranks": 16, "sum": 136, "sum_wanted": 136, "gpus": 8, "difference": 1e-8, "close": True, **changes}


def test_last_words_of_a_training_pod_are_right_only_with_all_processes_gpus_and_values() -> None:
    assert training.is_as_it_should_be(training.read(json.dumps(learned())), 16, 8)
    for wrong in ({"ranks": 8, "sum": 36}, {"sum": 135}, {"gpus": 1}, {"close": False}):
        assert not training.is_as_it_should_be(learned(**wrong), 16, 8)
    for message in ("", "Traceback", '{"error": "rank 3: timeout"}', "[1]"):
        assert not training.is_as_it_should_be(training.read(message), 16, 8)
