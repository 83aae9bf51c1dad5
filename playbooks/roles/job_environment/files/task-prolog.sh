#!/bin/sh
# slurmd runs this before each task, as the job's user and with the task's environment, and adds each `export NAME=value` that it prints (slurm.conf(5), TaskProlog).
# A job over several nodes gets its fabric's variables, except those that are set already. Inside one node the variables would slow NVLink. A job that sets
# CLUSTERWRIGHT_FABRIC=none gets none. A fault here must not fail a job: the exit status is always 0.
folder=${0%/*}
node=${CLUSTERWRIGHT_NODE_ENV:-/etc/clusterwright/node.env}
pci=${CLUSTERWRIGHT_PCI:-/sys/bus/pci/devices}

give() {
    name=${1%%=*} value=${1#*=}
    case $name in
    '' | [0-9]* | *[!A-Za-z0-9_]*) return ;;
    LD_LIBRARY_PATH)
        # The user's own libraries come first.
        case ":${LD_LIBRARY_PATH:-}:" in
        *":$value:"*) ;;
        *) echo "export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$value" ;;
        esac
        return
        ;;
    esac
    eval "is_set=\${$name+yes}"
    [ "$is_set" = yes ] && return
    case $value in
    *'{job}'*) value="${value%%'{job}'*}${SLURM_JOB_ID:-}${value#*'{job}'}" ;;
    esac
    # `{nic 0000:06:00.0}` is the name of the interface at this PCI address. Without it the job goes on without the variable, and acceptance names the node.
    while :; do
        case $value in *'{nic '*'}'*) ;; *) break ;; esac
        address=${value#*'{nic '}
        address=${address%%'}'*}
        set -- "$pci/$address/net/"*
        [ -e "$1" ] || return
        value="${value%%'{nic '*}${1##*/}${value#*"{nic $address}"}"
    done
    echo "export $name=$value"
}

[ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ] 2>/dev/null || [ "${SLURM_HET_SIZE:-1}" -gt 1 ] 2>/dev/null || exit 0
[ "${CLUSTERWRIGHT_FABRIC:-}" = none ] && exit 0
[ -r "$node" ] && [ -r "$folder/environment" ] || exit 0
group=
while IFS= read -r line; do
    case $line in CLUSTERWRIGHT_GROUP=*) group=${line#*=} ;; esac
done <"$node"

# The catalogue's values are read before the script's: what is said twice holds as it is printed first.
given=:
while IFS= read -r line; do
    case $line in
    "$group variable "*)
        pair=${line#"$group variable "}
        give "$pair"
        given="$given${pair%%=*}:"
        ;;
    esac
done <"$folder/environment"
while IFS= read -r line; do
    case $line in
    "$group script "*)
        script=${line#"$group script "}
        # shellcheck source=/dev/null
        [ -r "$script" ] && (. "$script" >/dev/null 2>&1 && env) | while IFS= read -r pair; do
            case $given in *":${pair%%=*}:"*) continue ;; esac
            case $pair in NCCL_*=* | LD_LIBRARY_PATH=*) give "$pair" ;; esac
        done
        ;;
    esac
done <"$folder/environment"
exit 0
