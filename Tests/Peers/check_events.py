"""Checks lines of standard input, each a JSON object, against docs/events.schema.json and the order of the members in
docs/json.md, and prints the names of the events."""

import json
import pathlib
import re
import sys

import jsonschema

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = DOCS / "events.schema.json"


def documented_members():
    """The members of each event, in the order of the table."""
    table = (DOCS / "json.md").read_text().split("## Members")[1]
    members = {}
    for event, names in re.findall(r"^\| *(?:`(\w+)`)? *\| (`[^|]*) \|", table, re.MULTILINE):
        name = event or name
        members.setdefault(name, ["event"]).extend(re.findall(r"`(\w+)`", names))
    return members


def main():
    members = documented_members()
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    names = set()
    for line in sys.stdin:
        event = json.loads(line)
        error = next(iter(validator.iter_errors(event)), None)
        if error is not None:
            sys.exit(f"{line.strip()}: {error.message}")
        expected = [member for member in members[event["event"]] if member in event]
        if list(event) != expected:
            sys.exit(f"{line.strip()}: not in the order of docs/json.md, {expected}")
        names.add(event["event"])
    print("\n".join(sorted(names)))


if __name__ == "__main__":
    main()
