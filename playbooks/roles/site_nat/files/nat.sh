#!/bin/sh
# nat start|watch|stop INTERFACE: load the rules of address translation, fail when somebody removes one, and give the host what it had before.
set -eu
before=/run/clusterwright/nat
rules=/etc/clusterwright/nat/rules.nft
table="ip clusterwright_nat"
# The kernel forwards, and tells no node of a way around the controller that would not translate.
forward=net/ipv4/ip_forward
redirects="net/ipv4/conf/all/send_redirects net/ipv4/conf/$2/send_redirects"

kept() { echo "$before/$(echo "$1" | tr / .)"; }

case $1 in
start)
    mkdir -p $before
    for setting in $forward $redirects; do
        [ -e "$(kept $setting)" ] || cat /proc/sys/$setting >"$(kept $setting)"
    done
    nft --file $rules
    # A host that was no router becomes one for nodes alone.
    [ "$(cat "$(kept $forward)")" = 1 ] || nft add rule $table forward drop
    echo 1 >/proc/sys/$forward
    for setting in $redirects; do echo 0 >/proc/sys/$setting; done
    ;;
watch)
    loaded=$(nft --stateless list table $table)
    while [ "$(nft --stateless list table $table 2>/dev/null)" = "$loaded" ] && [ "$(cat /proc/sys/$forward)" = 1 ]; do
        sleep 5
    done
    echo "somebody changed the rules of the table $table, or net.ipv4.ip_forward: nodes have no way out before the next run of clusterwright" >&2
    # Finishing starts the service again where this mark is.
    mkdir -p /run/clusterwright/pending
    : >/run/clusterwright/pending/site-nat
    exit 1
    ;;
stop)
    nft delete table $table 2>/dev/null || true
    for setting in $forward $redirects; do
        [ ! -e "$(kept $setting)" ] || cat "$(kept $setting)" >/proc/sys/$setting
    done
    rm -rf $before
    ;;
esac
