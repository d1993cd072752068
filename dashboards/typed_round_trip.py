#!/usr/bin/env python3
"""Reads each dashboard through Grafana's own types and back, and shows what got lost on the way.

A misspelt or misplaced field is one that Grafana would ignore. Run by hand:

    python3 -m venv venv && venv/bin/pip install grafana-foundation-sdk==0.0.21
    venv/bin/python dashboards/typed_round_trip.py dashboards/grafana/*.json

(The version must be named: a plain install takes one of an older numbering.)
"""

import json
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(before, after, path=""):
    """Everything of `before` that `after` lacks or has otherwise. A null says nothing."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from lost(value, after[key], f"{path}.{key}")
            elif value is not None:
                yield f"{path}.{key} = {json.dumps(value)} got lost"
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} entries became {len(after)}"
        for index, (old, new) in enumerate(zip(before, after)):
            yield from lost(old, new, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {json.dumps(before)} became {json.dumps(after)}"


def main(paths):
    plugins.register_default_plugins()
    complaints = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            before = json.load(file)
        after = json.loads(JSONEncoder().encode(Dashboard.from_json(before)))
        for complaint in lost(before, after):
            complaints += 1
            print(f"{path}: {complaint}")
    print(f"{len(paths)} dashboards, {complaints} fields lost or changed")
    return 1 if complaints or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
