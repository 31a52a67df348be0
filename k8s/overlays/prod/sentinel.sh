#!/bin/sh
# Starts a sentinel: two of three elect another primary once it has not responded for five seconds.
set -eu
primary="$(timeout 3 redis-cli -h redis-sentinel -p 26379 --raw sentinel get-master-addr-by-name fleet 2>/dev/null | head -n 1 || true)"
[ -n "$primary" ] || primary=redis-0.redis-pods
cat > /tmp/sentinel.conf <<CONF
port 26379
dir /tmp
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $(hostname).redis-pods
sentinel monitor fleet $primary 6379 2
sentinel down-after-milliseconds fleet 5000
sentinel failover-timeout fleet 30000
CONF
exec redis-sentinel /tmp/sentinel.conf
