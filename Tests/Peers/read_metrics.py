"""Reads a file of metrics with Prometheus' own parser.

    read_metrics.py FILE SOCKET

Prints the type, the name and the value of each sample, whose only label has to be the path of the socket.
"""

import pathlib
import sys

from prometheus_client.parser import text_string_to_metric_families

file, path = sys.argv[1:]
for family in text_string_to_metric_families(pathlib.Path(file).read_text()):
    for sample in family.samples:
        assert sample.labels == {"socket": path}, sample
        print(family.type, sample.name, f"{sample.value:.0f}")
