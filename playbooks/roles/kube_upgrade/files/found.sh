# Say which versions of Kubernetes this host runs, as YAML. Changes nothing.
#
# Arguments: folder of the settings, mark of an upgrade that was begun, digest of the cluster's authority (empty on hosts of the control plane).
set -u
image_tag() { sed -n "s/^ *image: .*$1:v\([0-9.]*\).*/\1/p" "$2" 2>/dev/null | head -n 1; }

member=false api='' cluster='' kubelet=''
if [ -z "$3" ]; then
    [ ! -e "$1/initialized" ] || member=true
elif [ -e /etc/kubernetes/kubelet.conf ]; then
    # A join that was interrupted has no mark yet.
    case $(cat "$1/joined" 2>/dev/null) in '' | "$3") member=true ;; esac
fi
if $member; then
    kubelet=$(/usr/local/bin/kubelet --version 2>/dev/null | sed -n 's/^Kubernetes v//p')
    api=$(image_tag kube-apiserver /etc/kubernetes/manifests/kube-apiserver.yaml)
    # After a restore the cluster may be older than its programs.
    [ -n "$3" ] || cluster=$(kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=5s --namespace=kube-system \
        get configmap kubeadm-config --output=jsonpath='{.data.ClusterConfiguration}' 2>/dev/null | sed -n 's/^kubernetesVersion: v//p')
fi
cat <<END
member: $member
begun: '$(cat "$2" 2>/dev/null)'
kubelet: '$kubelet'
api: '$api'
cluster: '$cluster'
END
