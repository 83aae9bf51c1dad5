# shellcheck shell=sh disable=SC2154
# The rest is the same for all hosts; what is set above belongs to this one.
# Without an argument: the power supply of the host, which starts its container again whenever it ends, as a machine does that was rebooted.
# `boot`: one boot; this process becomes the container.
# Only the machine's own tools are used, so that a host reboots also after the checkout that created it was moved or removed.
set -u

rebooted=133 # systemd-nspawn(1), with --keep-unit
short_s=15   # a boot that lasts no longer has failed
most_short=8

uptime_s() {
    read -r uptime _ </proc/uptime
    echo "${uptime%%.*}"
}

plug_in() {
    ip link del "$interface" 2>/dev/null
    ip netns del "$namespace" 2>/dev/null
    ip netns add "$namespace" && ip -batch "$cable" && ip -netns "$namespace" -batch "$addresses"
}

clear_nspawn() {
    for folder in $leftovers; do
        if [ -d "$folder" ]; then
            umount -l "$folder"
            rmdir "$folder"
        fi
    done 2>/dev/null
}

record() {
    read -r status <"/proc/$$/stat"
    # proc(5): the start is field 22, and a program's name may hold blanks and parentheses.
    # shellcheck disable=SC2086
    set -- ${status##*) }
    printf '{"boot": "%s", "interface": "%s", "pid": %s, "started": %s}\n' "$fingerprint" "$interface" $$ "${20}" >"$leader.new"
    mv "$leader.new" "$leader"
}

boot() {
    for group in $groups; do
        echo $$ >"$group/cgroup.procs" || exit 1
    done
    # The network and its settings begin anew with each boot. `clusterwright` itself created that of the first.
    if [ -e "$leader" ]; then
        clear_nspawn
        plug_in || exit 1
    fi
    record
    if [ "$has_own_uptime" = yes ]; then
        exec unshare --time --boottime "-$(uptime_s)" "$@"
    fi
    exec "$@"
}

clear_up() {
    for group in $groups; do
        find "$group" -name cgroup.procs -exec cat {} + | sort -u | xargs -r kill -KILL
        tries=0
        while [ -d "$group" ] && [ "$tries" -lt 50 ]; do
            find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
            [ ! -d "$group" ] || sleep 0.1
            tries=$((tries + 1))
        done
        mkdir -p "$group"
        for file in cpuset.cpus cpuset.mems; do
            # Version 1: an empty cpuset takes no process.
            if [ -e "$group/tasks" ] && [ -e "$group/$file" ]; then
                cat "${group%/*}/$file" >"$group/$file"
            fi
        done
    done
}

supply() {
    short=0
    while :; do
        begun=$(uptime_s)
        /bin/sh "$0" boot
        status=$?
        if [ "$status" -ne "$rebooted" ] && [ "$after_power_off" != boot ]; then
            exit 0
        fi
        short=$((short + 1))
        [ $(($(uptime_s) - begun)) -lt "$short_s" ] || short=0
        if [ "$short" -ge "$most_short" ]; then
            echo "clusterwright: the host ended $short times within $short_s s of its start, the last time with status $status; it stays off until the next \`up\`"
            exit 1
        fi
        sleep $((short > 2 ? pause_s * short : pause_s))
        clear_up
    done
}

if [ "${1:-}" = boot ]; then
    boot_container
else
    supply
fi
