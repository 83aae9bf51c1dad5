"""Answers of many tasks over one srun: long ones come in pieces, mixed with those of others."""

import importlib
import json
import sys

from blueprints.project import project_root

sys.path.insert(0, str(project_root() / "playbooks/roles/acceptance/files"))
probe = importlib.import_module("acceptance.probe")
steps = importlib.import_module("acceptance.steps")

LINE_LIMIT_BYTES = 1024  # slurmstepd's MAX_MSG_LEN: longer lines are cut


def answer(rank: int) -> dict[str, object]:
    return {"rank": rank, "met": [f"train-{number}" for number in range(500)]}


def test_every_line_is_short_enough_to_arrive_whole() -> None:
    lines = probe.pieces(json.dumps(answer(63)), 63)
    assert len(lines) > 1
    assert all(len(line) < LINE_LIMIT_BYTES for line in lines)


def test_mixed_pieces_are_put_together() -> None:
    one, two = (probe.pieces(json.dumps(answer(rank)), rank) for rank in (1, 12))
    mixed = [line for pair in zip(one, two, strict=False) for line in pair] + one[len(two) :] + two[len(one) :]
    assert steps.json_lines("\n".join(["noise", *mixed])) == [answer(1), answer(12)]


def test_an_answer_with_a_piece_missing_is_no_answer() -> None:
    lines = probe.pieces(json.dumps(answer(1)), 1)
    assert steps.json_lines("\n".join(lines[:-1])) == []
