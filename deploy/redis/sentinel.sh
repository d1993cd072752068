#!/usr/bin/env bash
# Starts a Redis primary, two replicas and three Sentinels on this machine, to try Jobbers behind Sentinels. Needs
# redis-server. Everything is in ./redis-sentinel, and ends with Ctrl+C.
#
#   deploy/redis/sentinel.sh [FIRST_PORT [FIRST_SENTINEL_PORT]]      7100 and 26379 when not given
set -euo pipefail

first=${1:-7100}
watch=${2:-26379}
folder=$PWD/redis-sentinel
mkdir -p "$folder"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

for n in 0 1 2; do
  mkdir -p "$folder/server-$n"
  follow=()
  [ "$n" = 0 ] || follow=(--replicaof "127.0.0.1 $first")
  redis-server --bind 127.0.0.1 --port "$((first + n))" --dir "$folder/server-$n" --daemonize no \
    --appendonly yes --appendfsync everysec --aof-load-truncated no --maxmemory-policy noeviction \
    --min-replicas-to-write 1 --min-replicas-max-lag 1 --repl-diskless-sync-delay 0 "${follow[@]}" \
    >"$folder/server-$n/log" &
done
for n in 0 1 2; do
  file=$folder/sentinel-$n.conf
  # A Sentinel writes down in its file what it has learned: it is kept when it is there.
  [ -f "$file" ] || printf '%s\n' \
    "port $((watch + n))" 'bind 127.0.0.1' "dir $folder" \
    "sentinel monitor main 127.0.0.1 $first 2" \
    'sentinel down-after-milliseconds main 2000' \
    'sentinel failover-timeout main 10000' \
    'sentinel parallel-syncs main 2' >"$file"
  redis-server "$file" --sentinel >"$folder/sentinel-$n.log" &
done
echo "jobbers up --engine-url redis+sentinel://127.0.0.1:$watch,127.0.0.1:$((watch + 1)),127.0.0.1:$((watch + 2))/main"
echo "a planned failover: redis-cli -p $watch sentinel failover main"
wait
