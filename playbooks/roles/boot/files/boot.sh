#!/bin/sh
# Make this host what its role says, on every start and before any daemon of the scheduler.
# Many hosts of one machine start together: no process is started here that isn't needed.
set -eu

settings=/etc/clusterwright/node.env
secrets=/etc/clusterwright/secrets
runtime=/run/clusterwright

if [ ! -r "$settings" ]; then
    echo "$settings is missing: the target did not say what this host is" >&2
    exit 1
fi
# shellcheck source=/dev/null
. "$settings"
: "${CLUSTERWRIGHT_ROLE:?is not set in $settings}"
: "${CLUSTERWRIGHT_CONTROLLERS:?is not set in $settings}"

# Units of a role carry ConditionPathExists= on this file.
mkdir -p "$runtime"
: >"$runtime/role-$CLUSTERWRIGHT_ROLE"

# The key's owner has another number in every image, so the target can't write the file that munged reads.
if [ -r "$secrets/munge.key" ] && ! cmp -s "$secrets/munge.key" /etc/munge/munge.key; then
    install -o munge -g munge -m 0400 "$secrets/munge.key" /etc/munge/munge.key.new
    mv /etc/munge/munge.key.new /etc/munge/munge.key
fi

# Simulated GPUs: character devices of a number that belongs to no driver. Opening one fails with ENXIO, or with EPERM where it isn't allocated.
gpu=0
while [ "$gpu" -lt "${CLUSTERWRIGHT_SIMULATED_GPUS:-0}" ]; do
    [ -c "/dev/nvidia$gpu" ] || mknod -m 0666 "/dev/nvidia$gpu" c "${CLUSTERWRIGHT_GPU_MAJOR:?is not set in $settings}" "$gpu"
    gpu=$((gpu + 1))
done

# In a container, version 1 controllers are mounted read-only; slurmd makes a group per job in each of those it confines with.
if [ "$CLUSTERWRIGHT_ROLE" = compute ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
    for controller in cpuset memory devices freezer cpu cpuacct cpu,cpuacct; do
        folder="/sys/fs/cgroup/$controller"
        if [ -d "$folder" ] && [ ! -L "$folder" ] && ! [ -w "$folder/tasks" ]; then
            mount -o remount,rw,bind "$folder"
        fi
    done
fi

if [ "$CLUSTERWRIGHT_ROLE" = compute ]; then
    # One of the controllers has to be there; which of them serves, slurmd finds out itself.
    printf 'SLURMD_OPTIONS=--conf-server %s\nCLUSTERWRIGHT_CONTROLLERS=%s\n' "$CLUSTERWRIGHT_CONTROLLERS" "$CLUSTERWRIGHT_CONTROLLERS" >"$runtime/slurmd.env"
fi
