#!/bin/bash
# wait-port HOST PORT [SECONDS]: return when something listens there; fail after SECONDS, or never.
# Bash opens the connection itself: a waiting host costs two `sleep` a second, and one that waits for its own daemon is quick.
host=$1 port=$2 seconds=${3:-}
interval=${seconds:+0.1}
announced=
until (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null; do
    if [ -n "$seconds" ] && [ "$SECONDS" -ge "$seconds" ]; then
        echo "nothing listened on $host:$port for $seconds s" >&2
        exit 1
    fi
    [ -n "$announced" ] || echo "waiting for $host:$port"
    announced=yes
    sleep "${interval:-0.5}"
done
