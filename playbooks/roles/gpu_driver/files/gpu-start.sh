#!/bin/sh
# gpu-start: bring up the NVIDIA GPUs of this machine and what connects them, and fail where that fails. A machine without them is left as it is.
set -eu
devices=${PCI_DEVICES:-/sys/bus/pci/devices}

# has CLASS: is there a device of NVIDIA (vendor 10de) whose PCI class begins so?
has() {
    for device in "$devices"/*; do
        [ -r "$device/class" ] || continue
        if [ "$(cat "$device/vendor")" = 0x10de ]; then
            case $(cat "$device/class") in "$1"*) return 0 ;; esac
        fi
    done
    return 1
}

# 03: display controllers, which GPUs are without a display, too. 0680: other bridges, which NVSwitches are.
has 0x03 || exit 0
modprobe nvidia
modprobe nvidia-uvm
# The daemon holds the driver's state between jobs, and makes the device files that slurmd looks for.
systemctl start nvidia-persistenced.service
if has 0x0680; then
    # Without it CUDA ends with error 802 (system not yet initialized).
    systemctl start nvidia-fabricmanager.service
fi
