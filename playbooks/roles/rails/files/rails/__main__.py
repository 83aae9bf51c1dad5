"""`python3 -m rails begin|apply|result|confirm|rollback|remove|status`: JSON with `interfaces` and `confirm_within_s` on standard input, JSON on standard output."""

import json
import sys

from . import change, live

DEFAULT_CONFIRM_WITHIN_S = 120


def main() -> None:
    verb, *options = sys.argv[1:]
    try:
        answer = _do(verb, options)
    except live.Failed as failed:
        print(failed, file=sys.stderr)
        raise SystemExit(1) from None
    print(json.dumps(answer))


def _do(verb: str, options: "list[str]") -> object:
    if verb == "apply":
        return change.apply()
    if verb == "rollback":
        return change.rollback(is_boot="--at-boot" in options)
    if verb == "result":
        return change.result()
    if verb == "confirm":
        return change.confirm()
    if verb == "remove":
        return change.remove()
    order = json.load(sys.stdin)
    if verb == "status":
        return change.status(order["interfaces"])
    if verb == "begin":
        return change.begin(order["interfaces"], confirm_within_s=int(order.get("confirm_within_s") or DEFAULT_CONFIRM_WITHIN_S), is_check="--check" in options)
    raise live.Failed(f"`{verb}` is none of begin, apply, result, confirm, rollback, remove, status")


if __name__ == "__main__":
    main()
