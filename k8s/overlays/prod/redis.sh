#!/bin/sh
# Starts Redis as the replica of the primary that the sentinels know, or of redis-0 while there are none.
set -eu
own="$(hostname).redis-pods"
primary="$(timeout 3 redis-cli -h redis-sentinel -p 26379 --raw sentinel get-master-addr-by-name fleet 2>/dev/null | head -n 1 || true)"
[ -n "$primary" ] || primary=redis-0.redis-pods
set -- redis-server --dir /data --appendonly yes --replica-announce-ip "$own" --maxmemory-policy noeviction
[ "$primary" = "$own" ] || set -- "$@" --replicaof "$primary" 6379
exec "$@"
