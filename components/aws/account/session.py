"""A session with the account: whose keys they are, and what to do when there are none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ... import account
from ...errors import AccountUnavailable

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
_REFUSED = frozenset(
    {"AuthFailure", "IncompleteSignature", "InvalidAccessKeyId", "InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException"}
)
_NO_CREDENTIALS = frozenset(
    {
        *("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound", "ConfigNotFound", "ConfigParseError"),
        *("SSOError", "SSOTokenLoadError", "UnauthorizedSSOTokenError", "TokenRetrievalError", "LoginError"),
    }
)
"""Of botocore.exceptions, by name: versions have some and others not."""
_WAIT_S = 10
_ATTEMPTS, _FIRST_ATTEMPTS = 6, 2
_HOME_REGIONS = {"cn-": "cn-north-1", "us-gov-": "us-gov-west-1"}
_HOME_REGION = "us-east-1"
"""A region that every account of its partition has."""


class Session:
    """Clients of one region, each made once.

    Raises:
        AccountUnavailable: boto3 is not installed, or a profile that is named is not there.
    """

    def __init__(self, region: str):
        try:
            import boto3
            import botocore.config
        except ImportError as missing:
            why = f"the module {missing.name} is missing: AWS's SDK comes with the extra `aws` only"
            raise AccountUnavailable("AWS can't be asked from here", why=why, remedy="run `make setup EXTRAS=aws`, then the same command again") from missing
        self.region = region
        self._config = botocore.config.Config(connect_timeout=_WAIT_S, read_timeout=3 * _WAIT_S, user_agent_extra="clusterwright")
        try:
            self._session = boto3.session.Session(region_name=region)
        except Exception as error:
            raise translated(error) or error from error
        self._clients: dict[tuple[str, str], Any] = {}

    def identity(self) -> account.Identity:
        """Say whose keys these are.

        Raises:
            AccountUnavailable: there are none, they are no longer valid, or nobody answers.
        """
        said = self.call("sts", "get_caller_identity", region=home_region(self.region))
        return account.Identity(str(said["Account"]), str(said["Arn"]))

    def call(self, service: str, operation: str, *, region: str = "", **parameters: Any) -> Any:
        """Call one operation.

        Raises:
            AccountUnavailable: the account can't be asked at all.
            botocore.exceptions.ClientError: this can't be asked.
        """
        try:
            return getattr(self._client(service, region), operation)(**parameters)
        except Exception as error:
            raise translated(error) or error from error

    def pages(self, service: str, operation: str, key: str, **parameters: Any) -> Iterator[Any]:
        """Give all entries of a list.

        Raises:
            AccountUnavailable, botocore.exceptions.ClientError: as `call`.
        """
        try:
            for page in self._client(service, "").get_paginator(operation).paginate(**parameters):
                yield from page[key]
        except Exception as error:
            raise translated(error) or error from error

    def _client(self, service: str, region: str) -> Any:
        chosen = (service, region or self.region)
        if chosen not in self._clients:
            import botocore.config

            # Who can't be reached at all is not worth waiting for; who answers is asked again when there was too much at once.
            attempts = {"mode": "standard", "total_max_attempts": _FIRST_ATTEMPTS if service == "sts" else _ATTEMPTS}
            config = self._config.merge(botocore.config.Config(retries=attempts))
            self._clients[chosen] = self._session.client(service, region_name=chosen[1], config=config)
        return self._clients[chosen]


def home_region(region: str) -> str:
    return next((home for prefix, home in _HOME_REGIONS.items() if region.startswith(prefix)), _HOME_REGION)


def code(error: "ClientError") -> str:
    """Give the code that a service refuses with."""
    return str(error.response.get("Error", {}).get("Code", ""))


def translated(error: Exception) -> AccountUnavailable | None:
    """Turn what means that the account can't be asked at all into one page; None: it is about the one question."""
    import botocore.exceptions

    kind = type(error).__name__
    if isinstance(error, botocore.exceptions.ClientError) and code(error) in _EXPIRED:
        return AccountUnavailable(
            "the AWS credentials have expired",
            why=_message(error),
            remedy="log in again (`aws sso login`, or get new temporary keys), then run the command again",
        )
    if isinstance(error, botocore.exceptions.ClientError) and code(error) in _REFUSED:
        return AccountUnavailable(
            "AWS refuses the credentials",
            why=_message(error),
            remedy="see which keys count here: `aws sts get-caller-identity`, and AWS_PROFILE or AWS_ACCESS_KEY_ID",
        )
    if kind in _NO_CREDENTIALS:
        remedy = "log in (`aws configure sso`, `aws configure`), choose a profile with AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return AccountUnavailable("there are no AWS credentials here", why=str(error), remedy=remedy)
    if isinstance(error, (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError)):
        return AccountUnavailable(
            "AWS does not answer", why=str(error), remedy="see to the network, a proxy (HTTPS_PROXY) or AWS_ENDPOINT_URL, then run the command again"
        )
    if isinstance(error, botocore.exceptions.BotoCoreError) and not isinstance(error, botocore.exceptions.ParamValidationError):
        return AccountUnavailable(
            "AWS can't be asked from here", why=str(error), remedy="see to the profile and to what it asks for (`aws sts get-caller-identity` shows the same)"
        )
    return None


def _message(error: "ClientError") -> str:
    return str(error.response.get("Error", {}).get("Message") or error)
