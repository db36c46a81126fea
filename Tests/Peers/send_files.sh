#!/bin/sh
# Sends JPEGs with printf, cat and socat alone.
#
#     send_files.sh SOCKET ROUNDS {FILE WIDTH HEIGHT}...
set -eu
socket=$1 rounds=$2
shift 2

frames() {
    while [ $# -gt 0 ]; do
        printf 'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nBuffer-Width: %d\r\nBuffer-Height: %d\r\nBuffer-Orientation: 1\r\n\r\n' \
            "$(wc -c <"$1")" "$2" "$3"
        cat "$1"
        shift 3
    done
}

for round in $(seq "$rounds"); do frames "$@"; done | socat -u - "UNIX-CONNECT:$socket"
