#!/bin/sh
# Prepare a host that is itself a container for containerd and the kubelet, on every start.
set -eu

# Version 1 controllers are mounted read-only; containerd makes a group for each container in all of them.
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
    for folder in /sys/fs/cgroup/*; do
        if [ -d "$folder" ] && [ ! -L "$folder" ] && mountpoint -q "$folder" && ! [ -w "$folder/cgroup.procs" ]; then
            mount -o remount,rw,bind "$folder"
        fi
    done
fi

# Volumes that one container mounts are seen by others only where mounts are shared.
mount --make-rshared /

# The kubelet reads the kernel's log, which is the machine's.
[ -e /dev/kmsg ] || ln -s /dev/null /dev/kmsg

# The kubelet wants these values of the kernel, and would set them for the whole machine: here it reads them, and the machine keeps its own.
shown=/run/clusterwright/proc
mkdir -p "$shown"
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
    file="$shown/$(basename "${setting%=*}")"
    if ! mountpoint -q "/proc/sys/${setting%=*}"; then
        echo "${setting#*=}" >"$file"
        mount --bind "$file" "/proc/sys/${setting%=*}"
    fi
done
