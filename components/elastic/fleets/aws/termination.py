"""Terminate EC2 instances, whichever of them EC2 refuses. The program on controllers and `down` use it."""

from collections.abc import Sequence
from typing import Any

import botocore.exceptions

from .answers import LATER_CODES, code

TERMINATE_AT_ONCE = 1000  # aws-parallelcluster-node, terminate_max_batch_size
MOST_REFUSED = 20
"""After so many single refusals the cause is no single instance: the rest of a list is not halved any further."""


def terminate(client: Any, instances: Sequence[str]) -> dict[str, str]:
    """Terminate instances; a refusal of some doesn't keep the others running.

    EC2 refuses a whole list for one that it does not know or may not terminate, and with a protected one all others of its zone (Amazon EC2 API Reference, TerminateInstances).
    Those that it names are left out then; where it names none, the list is halved until those that it refuses are alone.

    Args:
        client: boto3's EC2 client.
    Returns:
        instances that EC2 does not terminate, each with its reason.
    """
    waiting = [list(instances[start : start + TERMINATE_AT_ONCE]) for start in range(0, len(instances), TERMINATE_AT_ONCE)]
    refused: dict[str, str] = {}
    while waiting:
        some = waiting.pop()
        try:
            client.terminate_instances(InstanceIds=some)
        except botocore.exceptions.ClientError as error:
            named = [one for one in some if one in error.response.get("Error", {}).get("Message", "")]
            if code(error) == "InvalidInstanceID.NotFound" and named:
                pass  # gone
            elif code(error) in LATER_CODES or len(refused) >= MOST_REFUSED:
                refused |= dict.fromkeys((one for batch in (some, *waiting) for one in batch), str(error))
                break
            elif named or len(some) == 1:
                named = named or some
                refused |= dict.fromkeys(named, str(error))
            else:
                half = len(some) // 2
                waiting += [some[:half], some[half:]]
                continue
            waiting += [left] if (left := [one for one in some if one not in named]) else []
        except botocore.exceptions.BotoCoreError as error:
            refused |= dict.fromkeys((one for batch in (some, *waiting) for one in batch), str(error))
            break
    return refused
