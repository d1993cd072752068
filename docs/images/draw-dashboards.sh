#!/usr/bin/env bash
# Draws the pictures of the dashboards, for the guide to monitoring: has Prometheus scrape real processes on Redis under a
# mixed load for two minutes, and draws what each panel shows.
#
#   docs/images/draw-dashboards.sh [FOLDER]
#
# FOLDER is where the pictures go (docs/images). Needs: cargo-nextest, redis-server, prometheus, node.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
cd "$here/../.."
PICTURES=$(realpath "${1:-docs/images}")
export PICTURES
cargo build --workspace --all-targets --all-features
JOBBERS_BINARIES=${JOBBERS_BINARIES:-$(realpath target/debug)}
export JOBBERS_BINARIES
cargo nextest run --workspace --all-features \
  -E 'package(jobbers-system-tests) and test(on_redis::every_panel_and_rule_has_data_and_the_counts_are_the_api_s)'
node "$here/smaller.mjs" "$PICTURES"/*.svg
