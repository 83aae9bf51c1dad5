"""Connections of Redfish's client to one BMC with one certificate."""

from typing import Any

import requests
from requests import adapters


class Pinned(adapters.HTTPAdapter):
    """Connect to one BMC with one certificate, follow no redirect, and send only the credentials that a request names."""

    def __init__(self, certificate: str):
        self._certificate = certificate.replace(":", "").lower()
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        if self._certificate:
            kwargs |= {"assert_fingerprint": self._certificate, "assert_hostname": False}
        super().init_poolmanager(*args, **kwargs)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        request.headers.pop("Authorization", None)  # from ~/.netrc
        response = super().send(request, *args, **kwargs)
        if response.is_redirect:
            raise requests.exceptions.InvalidURL(f"it leads to {response.headers.get('Location', 'nowhere')!r}, where nothing is sent")
        return response
