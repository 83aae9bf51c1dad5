#!/bin/bash
# mounted [SECONDS]: mount what /etc/fstab wants on this host and is not mounted yet; fail after SECONDS and say what is missing, by mount point.
# A file system can come minutes after the host: its name isn't known yet, a disk is not attached, or the host that exports it is being set up.
seconds=${1:-300}
table=${FSTAB:-/etc/fstab}
console=${CONSOLE:-/dev/console}
lock=${LOCK:-/run/clusterwright-mounted.lock}

# Network file systems, and disks that are attached after the start; what the system itself brought is there by now.
wanted() {
    awk '$1 !~ /^#/ && $4 ~ /(^|,)(_netdev|x-systemd\.device-timeout=[^,]*)(,|$)/ && $4 !~ /(^|,)noauto(,|$)/ {print $2, $1}' "$table"
}

bring() {
    case $2 in
    # systemd waits for the disk, and makes a file system on an empty one.
    /dev/*) timeout 15 systemctl start "$(systemd-escape --path --suffix=mount "$1")" ;;
    *) mkdir -p "$1" && timeout 60 mount "$1" ;;
    esac
}

while true; do
    missing=
    # One at a time: the boot, slurmd and finishing all want the file systems, and a bucket would be mounted twice. What serves a bucket lives on, and must not hold the lock.
    {
        flock 9
        while read -r folder source; do
            if ! findmnt --mountpoint "$folder" >/dev/null && ! said=$(bring "$folder" "$source" 2>&1 9>&-); then
                missing="$missing$folder ($source) is not mounted after $seconds s: ${said:-no answer}"$'\n'
            fi
        done < <(wanted)
    } 9>"$lock"
    [ -n "$missing" ] || exit 0
    [ "$SECONDS" -lt "$seconds" ] || break
    sleep 2
done
printf '%s' "$missing" >&2
# Where nobody can log in, this is what is left to read.
[ ! -w "$console" ] || printf 'clusterwright: %s' "$missing" >>"$console"
exit 1
