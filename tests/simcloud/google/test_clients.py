"""Google's own client library and its metadata credentials against the simulated Google Cloud over HTTP: a second opinion on the form of requests and answers."""

from __future__ import annotations

import contextlib
from pathlib import Path

import google.auth
import pytest
from google.auth.compute_engine import _metadata
from googleapiclient import discovery, errors

from tests.simcloud.google import client

from .test_door import NETWORK, SUBNET
from .test_instances import INSTANCE, ZONE

PLACE = {"project": client.PROJECT, "zone": client.ZONE}


@pytest.mark.slow
def test_googles_client_makes_lists_and_deletes_an_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with client.started(tmp_path) as cloud, contextlib.ExitStack() as held:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        # The library reads the address of the metadata server when it is imported, which tests of another simulated project may have done.
        monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", cloud.environment["GCE_METADATA_HOST"])
        credentials, project = google.auth.default()
        assert project == client.PROJECT
        endpoint = {"api_endpoint": f"{cloud.address}/compute.googleapis.com/compute/v1/"}
        compute = held.enter_context(
            contextlib.closing(discovery.build("compute", "v1", credentials=credentials, client_options=endpoint, static_discovery=True, cache_discovery=False))
        )
        begun = compute.networks().insert(project=project, body=NETWORK).execute()
        assert compute.globalOperations().wait(project=project, operation=begun["name"]).execute()["status"] == "DONE"
        compute.subnetworks().insert(project=project, region=client.REGION, body=SUBNET).execute()
        compute.instances().insert(**PLACE, body=INSTANCE).execute()
        listed = compute.instances().list(**PLACE, filter="name = one", fields="items(name,status)").execute()
        assert listed == {"items": [{"name": "one", "status": "RUNNING"}]}
        pages = compute.instances().aggregatedList(project=project).execute()
        assert [one["name"] for one in pages["items"][ZONE]["instances"]] == ["one"]
        with pytest.raises(errors.HttpError, match="already being used by"):
            compute.networks().delete(project=project, network="net").execute()
        compute.instances().delete(**PLACE, instance="one").execute()
        assert compute.instances().list_next(compute.instances().list(**PLACE), compute.instances().list(**PLACE).execute()) is None
        assert not cloud.things("compute.instances")
        cloud.fault("compute.instances.list", code="rateLimitExceeded", message="Rate Limit Exceeded")
        with pytest.raises(errors.HttpError, match="403"):
            compute.instances().list(**PLACE).execute()
