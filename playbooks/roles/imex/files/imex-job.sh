#!/bin/sh
# slurmd runs this as root before and after each job on a node (slurm.conf(5), Prolog, Epilog). For a job over several nodes, NVIDIA's IMEX daemon of each node learns
# the addresses of the job's nodes in its own NVLink domain, which is that of the node's number, and is ready before the job's first task. A node on which it does not
# come up takes no jobs: slurmd drains it, and the job goes back to the queue. Daemons with different lists refuse each other, so jobs that share a node get the first
# one's; the last one ends the daemon (NVIDIA IMEX Service guide, "Deployment Models", per job).
set -u
folder=${0%/*}
run=${IMEX_RUN:-/run/clusterwright/imex}
node=${CLUSTERWRIGHT_NODE_ENV:-/etc/clusterwright/node.env}
environment=${IMEX_ENVIRONMENT:-/var/lib/clusterwright/cluster/jobs/environment}
nodes=${IMEX_NODES:-/etc/nvidia-imex/nodes_config.cfg}
looks=60 pause_s=${IMEX_PAUSE_S:-1}

# Of the lines that scontrol shows, the addresses of nodes in the domain of this one.
addresses() {
    awk -v own="${SLURMD_NODENAME:?}" -v size="$1" '
        function domain(name, number, prefix) {
            number = name; sub(/.*-/, "", number); prefix = name; sub(/-[0-9]+$/, "", prefix)
            return prefix "/" int(number / size)
        }
        {
            name = ""; address = ""
            for (field = 1; field <= NF; field++) {
                if ($field ~ /^NodeName=/) name = substr($field, 10)
                if ($field ~ /^NodeAddr=/) address = substr($field, 10)
            }
            if (domain(name) == domain(own)) print address
        }'
}

# Give the marks of other jobs here. Those of jobs that have ended go: nothing removed them where slurmd was killed before their epilog. Without an answer, in which this
# node's own job has to be, all count.
other_marks() {
    marks=$(find "$run" -type f ! -name "${SLURM_JOB_ID:?}")
    [ -n "$marks" ] || return 0
    known=$(squeue --all --noheader --format=%A --nodelist="${SLURMD_NODENAME:?}" 2>/dev/null) || known=
    if printf '%s\n' "$known" | grep -Fqx -e "$SLURM_JOB_ID"; then
        for mark in $marks; do
            printf '%s\n' "$known" | grep -Fqx -e "${mark##*/}" || rm -f "$mark"
        done
    fi
    find "$run" -type f ! -name "$SLURM_JOB_ID"
}

start() {
    [ "${SLURM_JOB_NUM_NODES:-2}" -gt 1 ] 2>/dev/null || [ "${SLURM_HET_SIZE:-1}" -gt 1 ] 2>/dev/null || return 0
    group=$(sed -n 's/^CLUSTERWRIGHT_GROUP=//p' "$node")
    grep -Fqsx -e "$group daemon imex" "$environment" || return 0
    size=$(sed -n "s/^$group arguments //p" "$environment")
    mkdir -p "$run" || return 1
    others=$(other_marks)
    : >"$run/$SLURM_JOB_ID" || return 1
    if [ -n "$others" ]; then
        echo "imex: another job runs here, whose NVLink domain stays as it is" >&2
        return 0
    fi
    wanted=$(scontrol --all --oneliner show node "${SLURM_JOB_NODELIST:-${SLURM_NODELIST:?}}" | addresses "$size")
    if [ -z "$wanted" ]; then
        echo "imex: scontrol shows no address of the job's nodes" >&2
        return 1
    fi
    printf '%s\n' "$wanted" >"$nodes.new" && mv "$nodes.new" "$nodes" || return 1
    systemctl restart nvidia-imex.service || return 1
    while [ "$looks" -gt 0 ]; do
        [ "$(nvidia-imex-ctl -q 2>/dev/null)" = READY ] && return 0
        looks=$((looks - 1))
        sleep "$pause_s"
    done
    echo "imex: the daemon is not ready: $(nvidia-imex-ctl -q 2>&1)" >&2
    return 1
}

end() {
    [ -e "$run/${SLURM_JOB_ID:-}" ] || return 0
    rm -f "$run/$SLURM_JOB_ID"
    [ -z "$(other_marks)" ] || return 0
    # Without its list it does not start by itself, and nobody expects it to be connected.
    rm -f "$nodes"
    systemctl stop nvidia-imex.service
}

case ${SLURM_SCRIPT_CONTEXT:-} in
prolog_slurmd)
    start || {
        end
        exit 1
    }
    ;;
epilog_slurmd)
    end || echo "imex: the daemon could not be stopped" >&2
    # What looks at a node after each job (role guard).
    exec "$folder/health"
    ;;
esac
