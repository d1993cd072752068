#!/usr/bin/env bash
# Starts a Redis Cluster of three primaries with a replica each on this machine, to try Jobbers in a Cluster. Needs
# redis-server and redis-cli. Everything is in ./redis-cluster, and ends with Ctrl+C.
#
#   deploy/redis/cluster.sh [FIRST_PORT]      7000 when not given; each node also uses its port plus 10000
set -euo pipefail

first=${1:-7000}
folder=$PWD/redis-cluster
mkdir -p "$folder"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

is_new=no
nodes=()
pids=()
for n in 0 1 2 3 4 5; do
  port=$((first + n))
  mkdir -p "$folder/node-$n"
  [ -f "$folder/node-$n/nodes.conf" ] || is_new=yes
  redis-server --bind 127.0.0.1 --port "$port" --dir "$folder/node-$n" --daemonize no \
    --cluster-enabled yes --cluster-node-timeout 2000 \
    --appendonly yes --appendfsync everysec --aof-load-truncated no --maxmemory-policy noeviction \
    --repl-diskless-sync-delay 0 >"$folder/node-$n/log" &
  pids+=($!)
  nodes+=("127.0.0.1:$port")
done
for n in "${!nodes[@]}"; do
  until redis-cli -p "$((first + n))" ping >/dev/null 2>&1; do
    kill -0 "${pids[$n]}" 2>/dev/null || { tail -n 2 "$folder/node-$n/log" >&2; exit 1; }
    sleep 0.1
  done
done
[ "$is_new" = no ] || redis-cli --cluster create "${nodes[@]}" --cluster-replicas 1 --cluster-yes >"$folder/create.log"
echo "jobbers up --engine-url redis+cluster://${nodes[0]},${nodes[1]},${nodes[2]}"
echo "a planned failover: redis-cli -p PORT cluster failover, at the replica of slot 13907's primary"
wait
