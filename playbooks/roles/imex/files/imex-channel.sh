#!/bin/sh
# imex-channel: create the device file of IMEX channel 0, with which programs on several machines share memory of GPUs.
# No driver keeps it over a restart (NVIDIA IMEX Service guide, "IMEX Channels").
set -eu
devices=${DEVICES:-/proc/devices}
folder=${CHANNELS:-/dev/nvidia-caps-imex-channels}

number=$(sed -n 's/^ *\([0-9][0-9]*\) nvidia-caps-imex-channels$/\1/p' "$devices")
if [ -z "$number" ]; then
    echo "imex-channel: the driver has no IMEX channels; is the module nvidia loaded?" >&2
    exit 1
fi
[ -e "$folder/channel0" ] && exit 0
mkdir -p "$folder"
${MKNOD:-mknod} --mode=0666 "$folder/channel0" c "$number" 0
