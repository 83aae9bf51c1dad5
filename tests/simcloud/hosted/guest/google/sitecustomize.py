"""What the SMBIOS tables of an instance say, for cloud-init alone (Compute Engine documentation, "Detecting if a VM is running in Compute Engine")."""

from cloudinit import dmi  # type: ignore[import-not-found]

dmi.read_dmi_data = {"system-product-name": "Google Compute Engine", "system-manufacturer": "Google"}.get
