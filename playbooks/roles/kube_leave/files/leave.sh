#!/bin/sh
# End pods and remove what Kubernetes made on this server beside files: networks, rules, mounts, images, the database. Runs again after it was killed.
set -u

# A last copy of the cluster's database, where this is a host of the control plane: it stays on the server.
if [ -x /usr/lib/clusterwright/etcd-snapshot ]; then
    /usr/lib/clusterwright/etcd-snapshot || :
fi
snapshots=/var/lib/clusterwright/etcd-snapshots
if [ -d $snapshots ] && [ -n "$(ls $snapshots)" ]; then
    mkdir -p -m 0700 /var/lib/clusterwright/state/etcd-snapshots
    mv $snapshots/etcd-*.db /var/lib/clusterwright/state/etcd-snapshots/
fi

systemctl stop kubelet.service
if [ -x /usr/local/bin/kubeadm ] && [ -S /run/containerd/containerd.sock ]; then
    /usr/local/bin/kubeadm reset --force --cri-socket=unix:///run/containerd/containerd.sock >/dev/null 2>&1
fi
systemctl stop containerd.service docker-registry.service

# Containers live on without the runtime: their shims are no part of its unit.
for number in /proc/[0-9]*; do
    [ "$(readlink "$number/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] || continue
    [ "$(cat "$number/comm" 2>/dev/null)" = containerd-shim ] && kill -KILL "${number#/proc/}"
done

# Deepest first.
cut -d ' ' -f 5 /proc/self/mountinfo | sort -r | while read -r mount; do
    case $mount in
        /run/containerd/* | /var/lib/containerd/* | /var/lib/kubelet/* | /run/netns/cni-*) umount -l "$mount" ;;
    esac
done
for name in /run/netns/cni-*; do
    [ ! -e "$name" ] || rm -f "$name"
done

for link in cni0 flannel.1 kube-ipvs0; do
    [ ! -e "/sys/class/net/$link" ] || ip link delete "$link"
done
if command -v nft >/dev/null; then
    for family in ip ip6; do
        nft delete table "$family" kube-proxy 2>/dev/null
    done
    nft delete table inet clusterwright_services 2>/dev/null
    # flannel's rules, and those of port mappings, are in tables that it shares with others.
    for family in iptables ip6tables; do
        command -v $family-save >/dev/null && $family-save 2>/dev/null | grep -v -e FLANNEL -e KUBE- -e CNI- | $family-restore 2>/dev/null
    done
    # What network policies match by. Without their rules nothing uses them.
    if command -v ipset >/dev/null; then
        ipset list -name | grep -e '^KUBE-SRC-' -e '^KUBE-DST-' | while read -r set; do ipset destroy "$set"; done
    fi
    # A table without rules that accepts everything does nothing, whoever made it.
    for family in ip ip6; do
        for table in filter mangle nat raw security; do
            if nft list table $family $table >/run/clusterwright/table 2>/dev/null \
                && ! grep -qvE '^(#.*|table .*|[[:space:]]*(chain .*|type .* policy accept;|\}|))$' /run/clusterwright/table; then
                nft delete table $family $table
            fi
        done
    done
    rm -f /run/clusterwright/table
fi

# The network's own pods put it there, again after each start.
rm -f /opt/cni/bin/flannel /etc/cni/net.d/10-flannel.conflist
rm -f /opt/cni/bin/multus /opt/cni/bin/passthru /opt/cni/bin/whereabouts /etc/cni/net.d/00-multus.conf
rm -rf /etc/cni/net.d/multus.d /etc/cni/net.d/whereabouts.d

for folder in /var/lib/kubelet /var/lib/etcd /var/lib/containerd /var/lib/cni /var/log/pods /var/log/containers /var/log/kubernetes /run/flannel /run/containerd; do
    [ ! -d "$folder" ] || find "$folder" -xdev -mindepth 1 -delete
done
exit 0
