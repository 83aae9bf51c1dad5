#!/bin/bash
# wait-port HOST[,HOST...] PORT [SECONDS]: return when something listens on one of them; fail after SECONDS, or never.
# Bash opens the connection itself: a waiting host costs two `sleep` a second, and one that waits for its own daemon is quick.
hosts=$1 port=$2 seconds=${3:-}
interval=${seconds:+0.1}
announced=

listens() {
    if [ "$hosts" = "${hosts%,*}" ]; then
        (exec 3<>"/dev/tcp/$hosts/$port") 2>/dev/null
        return
    fi
    # A host that is gone gives no answer at all for minutes; where another one can be asked, it gets some seconds.
    local host
    for host in ${hosts//,/ }; do
        timeout 3 bash -c "exec 3<>/dev/tcp/$host/$port" 2>/dev/null && return
    done
    return 1
}

until listens; do
    if [ -n "$seconds" ] && [ "$SECONDS" -ge "$seconds" ]; then
        echo "nothing listened on $hosts:$port for $seconds s" >&2
        exit 1
    fi
    [ -n "$announced" ] || echo "waiting for $hosts:$port"
    announced=yes
    sleep "${interval:-0.5}"
done
