"""Record what the first boot left on a host: what its user data and cloud-init wrote since the image was made. A drift check takes that for the host as it should be.

Runs once, on the host, after cloud-init and before anybody logs in; `host_places` lies beside it.
"""

import host_places


def main() -> None:
    installed = host_places.read_json(host_places.INSTALLED)
    if installed is not None:
        host_places.write_json(host_places.BORN, host_places.since(installed["places"], host_places.places()))


if __name__ == "__main__":
    main()
