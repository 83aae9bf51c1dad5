#!/bin/sh
# slurmd runs this as root before and after each job on a node (slurm.conf(5), Prolog, Epilog). For a job over several nodes of a pool whose fabric needs it, RxDM
# runs from before the job's first task to the job's end: it receives for the GPUs. A node on which it does not come up takes no jobs: slurmd drains it, and the
# job goes back to the queue. Jobs that share a node share the daemon; the last one ends it.
set -u
folder=${0%/*}
run=${RXDM_RUN:-/run/clusterwright/rxdm}
node=${CLUSTERWRIGHT_NODE_ENV:-/etc/clusterwright/node.env}
environment=${RXDM_ENVIRONMENT:-/var/lib/clusterwright/cluster/jobs/environment}
apertures=${APERTURE_DEVICES:-/dev/aperture_devices}
container=clusterwright-rxdm
ready='Buffer manager initialization complete'
looks=60 pause_s=${RXDM_PAUSE_S:-2}

runs() { [ "$(docker container inspect --format '{{.State.Running}}' "$container" 2>/dev/null)" = true ]; }

start() {
    [ "${SLURM_JOB_NUM_NODES:-2}" -gt 1 ] 2>/dev/null || [ "${SLURM_HET_SIZE:-1}" -gt 1 ] 2>/dev/null || return 0
    group=$(sed -n 's/^CLUSTERWRIGHT_GROUP=//p' "$node")
    grep -Fqsx -e "$group daemon rxdm" "$environment" || return 0
    mkdir -p "$run" && : >"$run/${SLURM_JOB_ID:?}" || return 1
    runs && return 0
    if [ -z "$(ls -A "$apertures" 2>/dev/null)" ]; then
        echo "rxdm: $apertures is empty: this machine shows none of the NICs' aperture devices" >&2
        return 1
    fi
    modprobe import-helper || return 1
    # The file of an older version names none.
    arguments=$(sed -n "s/^$group arguments //p" "$environment")
    docker container rm --force "$container" >/dev/null 2>&1
    # shellcheck disable=SC2086 # each argument is a word of its own
    docker run --detach --pull=never --name "$container" --network=host --privileged --cap-add=NET_ADMIN --gpus all \
        --volume /dev/dmabuf_import_helper:/dev/dmabuf_import_helper --env "LD_LIBRARY_PATH=/usr/lib/$(uname -m)-linux-gnu" \
        "$(cat "$folder/rxdm.image")" ${arguments:---num_hops=2 --num_nics=8 --uid= --alsologtostderr} >/dev/null || return 1
    while [ "$looks" -gt 0 ]; do
        docker container logs "$container" 2>&1 | grep -Fq "$ready" && return 0
        runs || break
        looks=$((looks - 1))
        sleep "$pause_s"
    done
    echo "rxdm: the daemon did not come up; the end of its log:" >&2
    docker container logs --tail 10 "$container" >&2
    return 1
}

end() {
    [ -e "$run/${SLURM_JOB_ID:-}" ] || return 0
    rm -f "$run/$SLURM_JOB_ID"
    [ -n "$(ls -A "$run")" ] || docker container rm --force "$container" >/dev/null
}

case ${SLURM_SCRIPT_CONTEXT:-} in
prolog_slurmd)
    start || {
        end
        exit 1
    }
    ;;
epilog_slurmd)
    end || echo "rxdm: the daemon could not be stopped" >&2
    # What looks at a node after each job (role guard).
    exec "$folder/health"
    ;;
esac
