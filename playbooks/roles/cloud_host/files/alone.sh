#!/bin/bash
# alone: say whether this compute node runs for nobody: no controller has answered for an hour, and no job's step is here. Asked again and again; what it saw last is kept in memory.
# Only a controller ends nodes. When the last one is lost, nobody does, and the cloud wants to be paid.
seconds=${ALONE_AFTER_S:-3600}
seen=${SEEN:-/run/clusterwright/controller-seen}
console=${CONSOLE:-/dev/console}
port=${SLURMCTLD_PORT:-6817}

read -r now _ </proc/uptime # a clock that is set must not make an hour
now=${now%.*}
for controller in ${CLUSTERWRIGHT_CONTROLLERS//,/ }; do
    # Slurm's own daemon listens there only while it works.
    if timeout 5 bash -c "exec 3<>/dev/tcp/$controller/$port" 2>/dev/null; then
        echo "$now" >"$seen"
        exit 1
    fi
done
last=$(cat "$seen" 2>/dev/null) || {
    echo "$now" >"$seen" # counted from the first look: the controller may be younger than its nodes
    exit 1
}
[ $((now - last)) -ge "$seconds" ] || exit 1
# A step's own program outlives the daemons, and names itself `slurmstepd: [17.batch]` a moment after it began. Another one, `slurmstepd infinity`, only holds the control
# group of all steps (cgroup v2) and never ends. Processes of other containers on the same kernel are not meant.
pgrep --ns $$ --nslist pid --full '^(slurmstepd: |([^ ]*/)?slurmstepd$)' >/dev/null && exit 1
said="no controller has answered for $(((now - last) / 60)) minutes and no job runs here: this node ends itself"
echo "$said"
[ ! -w "$console" ] || echo "clusterwright: $said" >>"$console"
