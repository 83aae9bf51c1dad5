"""The simulated account's keys: whoever has others, or none, is not let in."""

import hmac

ACCESS_KEY, SECRET_KEY = "AKIASIMULATEDCLOUD00", "simulated/secret/key/for/tests/only/0000"


def is_known(access_key: str, secret_key: str) -> bool:
    """Say whether these are the account's keys."""
    return hmac.compare_digest((access_key + secret_key).encode(), (ACCESS_KEY + SECRET_KEY).encode())
