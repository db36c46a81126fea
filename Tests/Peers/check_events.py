"""Checks lines of standard input, each a JSON object, against docs/events.schema.json, and prints the names of the events."""

import json
import pathlib
import sys

import jsonschema

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "events.schema.json"


def main():
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    names = set()
    for line in sys.stdin:
        event = json.loads(line)
        error = next(iter(validator.iter_errors(event)), None)
        if error is not None:
            sys.exit(f"{line.strip()}: {error.message}")
        names.add(event["event"])
    print("\n".join(sorted(names)))


if __name__ == "__main__":
    main()
