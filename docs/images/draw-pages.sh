#!/usr/bin/env bash
# Draws the pages of a manager, for the README: starts `jobbers up` in a folder of its own, gives it something to do, and
# takes pictures with a headless Chromium.
#
#   docs/images/draw-pages.sh [FOLDER] [--all]
#
# FOLDER is where the pictures go (docs/images). With --all, every page in light, dark and 360 pixels wide, to be looked at.
# Needs: target/debug/jobbers or the program that JOBBERS names, chromium, node, curl, python3.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
cd "$here/../.."
out=$(realpath "${1:-docs/images}")
jobbers=$(realpath "${JOBBERS:-target/debug/jobbers}")
place=$(mktemp -d /tmp/XXXX)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export JOBBERS_MANAGER="http://127.0.0.1:$port"
cd "$place"
"$jobbers" up --listen "127.0.0.1:$port" >up.log 2>&1 &
up=$!
trap 'kill $up; wait $up || true; rm -rf "$place"' EXIT
until curl -sf "$JOBBERS_MANAGER/health/ready" >/dev/null; do kill -0 $up; sleep 0.2; done

post() { curl -sf -o /dev/null -X POST "$JOBBERS_MANAGER/$1" -H 'content-type: application/json' -d "$2"; }
put() { curl -sf -o /dev/null -X PUT "$JOBBERS_MANAGER/$1" -H 'content-type: application/json' -d "$2"; }
for queue in mail images billing webhooks reports; do put queues/$queue '{}'; done
put queues/webhooks '{"max_concurrent": 2}'
put roles/default '{"queues": ["default", "mail", "images", "billing", "webhooks", "reports"]}'
post queues/billing/pause '{}'
many() { python3 -c '
import json, sys
n, queue, name, parameters = int(sys.argv[1]), sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
print(json.dumps({"tasks": [{"name": name, "queue": queue, "labels": {"team": queue}, "parameters": parameters} for _ in range(n)]}))' "$@"; }
post tasks "$(many 240 mail echo '{"to": "anna@example.org", "template": "welcome"}')"
post tasks "$(many 60 billing echo '{"invoice": 4711}')"
post tasks "$(many 30 webhooks sleep '{"seconds": 300}')"
post tasks "$(many 4 images sleep '{"seconds": 600}')"
post tasks "$(many 23 mail fail '{"kind": "fatal", "message": "smtp 550: mailbox unavailable"}')"
post tasks "$(many 9 images fail '{"kind": "fatal", "message": "no user 17 in the store"}')"
post tasks '{"tasks": [{"id": "report-2026-11", "name": "fail", "queue": "reports", "parameters": {"kind": "retry", "message": "the ledger answers 503", "times": 2}, "max_retries": 4, "retry_delay": "5s"}]}'
post tasks "$(many 12 reports echo '{}' | sed 's/"name"/"delay": "3h", "name"/g')"
post schedules '{"name": "nightly-report", "cron": "0 3 * * *", "time_zone": "Europe/Berlin", "task": {"name": "echo", "queue": "reports"}}'
post schedules '{"name": "sweep", "every": "15m", "task": {"name": "echo"}}'
post schedules/nightly-report/run '{}'
post workflows '{"id": "etl-42", "name": "etl", "nodes": [
  {"id": "extract", "name": "echo"}, {"id": "clean", "name": "echo", "depends_on": ["extract"]},
  {"id": "enrich", "name": "sleep", "parameters": {"seconds": 300}, "depends_on": ["extract"]},
  {"id": "check", "name": "fail", "parameters": {"kind": "fatal", "message": "3 rows without a key"}, "depends_on": ["clean"]},
  {"id": "alarm", "name": "echo", "depends_on": [{"id": "check", "policy": "run_on_error"}]},
  {"id": "load", "name": "echo", "depends_on": ["clean", "enrich"]}, {"id": "publish", "name": "echo", "depends_on": ["load"]}]}'
until [ "$(curl -sf "$JOBBERS_MANAGER/dead-letter-queue/stats" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')" -ge 32 ]; do sleep 0.5; done
# The tasks that wait are worth a word once they have waited for half a minute.
sleep "${WAIT_SECONDS:-35}"

worker=$(curl -sf "$JOBBERS_MANAGER/workers" | python3 -c 'import json, sys; print(json.load(sys.stdin)["workers"][0]["id"])')
letter=$(curl -sf "$JOBBERS_MANAGER/dead-letter-queue?limit=1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["dead_letters"][0]["id"])')
list() {
  if [ "${1:-}" = --all ]; then
    for page in "" tasks "task?id=report-2026-11" letters "letter?id=$letter" queues "queue?name=webhooks" workers "worker?id=$worker" kinds "kind?name=fail" \
      schedules "schedule?name=nightly-report" workflows "workflow?id=etl-42" submit "submit?name=text.wordcount" "submit?from=report-2026-11" boards store "store?examine=yes" manager; do
      name=${page%%[?]*}
      for look in "light 1280" "dark 1280" "light 360"; do
        read -r scheme width <<<"$look"
        kind=${page#"$name"} kind=${kind%%=*}
        echo "${name:-overview}${kind/[?]/-}-$scheme-$width $width 0 $scheme $JOBBERS_MANAGER/ui/$page"
      done
    done
  else
    echo "pages-overview 1180 720 light $JOBBERS_MANAGER/ui/"
    echo "pages-letters 1180 520 dark $JOBBERS_MANAGER/ui/letters"
    echo "pages-task 1180 560 light $JOBBERS_MANAGER/ui/task?id=report-2026-11"
    echo "pages-workflow 1180 480 light $JOBBERS_MANAGER/ui/workflow?id=etl-42"
  fi
}
list "${2:-}" | node --experimental-websocket "$here/picture.mjs" "$out"
node "$here/smaller.mjs" "$out"/*.png
