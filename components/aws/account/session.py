"""A session with the account: its identity, and what to do about missing credentials."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...cloud import account
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
"""Names of classes of botocore.exceptions; each version of botocore has only some of them."""
_WAIT_S = 10
_ATTEMPTS, _FIRST_ATTEMPTS = 6, 2
_HOME_REGIONS = {"cn-": "cn-north-1", "us-gov-": "us-gov-west-1"}
_HOME_REGION = "us-east-1"
"""A region that is enabled in every account of the partition."""


class Session:
    """Clients of one region, each created once.

    Raises:
        AccountUnavailable: boto3 is not installed, or the named profile does not exist.
    """

    def __init__(self, region: str):
        try:
            import boto3
            import botocore.config
        except ImportError as missing:
            why = f"the module {missing.name} is missing: AWS's SDK comes with the extra `aws` only"
            raise AccountUnavailable(
                "the AWS account can't be queried", why=why, remedy="run `make setup EXTRAS=aws`, then the same command again"
            ) from missing
        self.region = region
        self._config = botocore.config.Config(connect_timeout=_WAIT_S, read_timeout=3 * _WAIT_S, user_agent_extra="clusterwright")
        try:
            self._session = boto3.session.Session(region_name=region)
        except Exception as error:
            raise translated(error) or error from error
        self._clients: dict[tuple[str, str], Any] = {}

    def identity(self) -> account.Identity:
        """Return the identity of the credentials.

        Raises:
            AccountUnavailable: no credentials, invalid credentials, or no answer.
        """
        said = self.call("sts", "get_caller_identity", region=home_region(self.region))
        return account.Identity(str(said["Account"]), str(said["Arn"]))

    def call(self, service: str, operation: str, *, region: str = "", **parameters: Any) -> Any:
        """Call one operation.

        Raises:
            AccountUnavailable: the account can't be queried.
            botocore.exceptions.ClientError: AWS refused this call.
        """
        try:
            return getattr(self._client(service, region), operation)(**parameters)
        except Exception as error:
            raise translated(error) or error from error

    def pages(self, service: str, operation: str, key: str, **parameters: Any) -> Iterator[Any]:
        """Return all entries of a list.

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

            # Do not retry connections to an endpoint that can't be reached; retry calls that AWS throttles.
            attempts = {"mode": "standard", "total_max_attempts": _FIRST_ATTEMPTS if service == "sts" else _ATTEMPTS}
            config = self._config.merge(botocore.config.Config(retries=attempts))
            self._clients[chosen] = self._session.client(service, region_name=chosen[1], config=config)
        return self._clients[chosen]


def home_region(region: str) -> str:
    return next((home for prefix, home in _HOME_REGIONS.items() if region.startswith(prefix)), _HOME_REGION)


def code(error: "ClientError") -> str:
    """Return the service's error code."""
    return str(error.response.get("Error", {}).get("Code", ""))


def translated(error: Exception) -> AccountUnavailable | None:
    """Turn errors that concern the whole account into one page; None: the error concerns this call only."""
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
            remedy="check which credentials are in use: `aws sts get-caller-identity`, AWS_PROFILE and AWS_ACCESS_KEY_ID",
        )
    if kind in _NO_CREDENTIALS:
        remedy = "log in (`aws configure sso`, `aws configure`), choose a profile with AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return AccountUnavailable("no AWS credentials found", why=str(error), remedy=remedy)
    if isinstance(error, (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError)):
        return AccountUnavailable(
            "AWS does not answer", why=str(error), remedy="check the network, the proxy (HTTPS_PROXY) and AWS_ENDPOINT_URL, then run the command again"
        )
    if isinstance(error, botocore.exceptions.BotoCoreError) and not isinstance(error, botocore.exceptions.ParamValidationError):
        return AccountUnavailable(
            "the AWS account can't be queried", why=str(error), remedy="check the profile and its settings (`aws sts get-caller-identity` shows the same error)"
        )
    return None


def _message(error: "ClientError") -> str:
    return str(error.response.get("Error", {}).get("Message") or error)
