"""Requests resources of a preview as programs other than browsers do, with Python's own HTTP client.

`get` prints the answer to one request. `stream` reads the images of `/stream`, and prints each as soon as the head of the
next part has come, which is when Chromium shows it; then how the stream ended.
"""

import argparse
import encodings.idna  # Loaded late otherwise, when another user may not be able to read it.
import hashlib
import http.client
import os
import pathlib
import socket
import time
import urllib.parse

import sending

PART_HEAD = b"Content-Type: image/jpeg\r\n\r\n"


def connect(url, timeout, room=None):
    """A connection whose system buffer is small if requested."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
    if room:
        family = socket.AF_INET6 if ":" in address.hostname else socket.AF_INET
        connection.sock = socket.socket(family, socket.SOCK_STREAM)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.sock.settimeout(timeout)
        connection.sock.connect((address.hostname, address.port))
    return connection


def ask(connection, method, path, fields, body=None):
    names = {name.lower() for name, _ in fields}
    connection.putrequest(method, path, skip_host="host" in names)
    for name, value in fields:
        if value:
            connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", len(body))
    connection.endheaders(body)
    return connection.getresponse()


def get(options):
    sent = None if options.body is None else bytes(options.body)
    response = ask(connect(options.url, options.timeout), options.method, options.path, options.field, sent)
    body = response.read()
    isText = not response.getheader("Content-Type", "").startswith("image/jpeg")
    if options.output:
        options.output.write_bytes(body)
    sending.say(
        "answer",
        status=response.status,
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        text=body.decode() if isText else "",
        **{name.lower(): value for name, value in response.getheaders()},
    )


def parts(response, boundary):
    """The bodies of the parts, each once the header after it has been read."""
    separator = b"\r\n--" + boundary + b"\r\n" + PART_HEAD
    # The first boundary has no line before it.
    pending = b"\r\n"
    isFirst = True
    while True:
        body, found, rest = pending.partition(separator)
        if found:
            pending = rest
            if isFirst and body:
                raise ValueError(f"{body!r} before the first part")
            if not isFirst:
                yield body
            isFirst = False
            continue
        piece = response.read1(1 << 16)
        if not piece:
            if pending:
                raise ValueError(f"the stream ends within a part, after {len(pending)} bytes of it")
            return
        pending += piece


def stream(options):
    response = ask(connect(options.url, options.timeout, options.room), "GET", options.path, [])
    boundary = response.headers.get_param("boundary") or ""
    sending.say("begin", status=response.status, type=response.headers.get_content_type())
    if options.pause_until:
        while not options.pause_until.exists():
            time.sleep(0.02)
    count = 0
    for body in parts(response, boundary.encode()):
        digest = hashlib.sha256(body).hexdigest()
        sending.say("part", index=count, bytes=len(body), sha256=digest)
        count += 1
        if count == options.parts or digest == options.until:
            sending.say("enough", parts=count)
            return
    sending.say("end", parts=count)


def field(text):
    name, _, value = text.partition(":")
    return name, value.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="to wait for anything (60)")
    parser.add_argument("--user", type=int, metavar="UID", help="ask as this user; needs root")
    actions = parser.add_subparsers(required=True)
    getting = actions.add_parser("get")
    getting.add_argument("path")
    getting.add_argument("--method", default="GET")
    getting.add_argument("--field", type=field, action="append", default=[], help="`Name: value`; an empty Host is none")
    getting.add_argument("--body", type=int, metavar="BYTES", help="send a body of so many bytes")
    getting.add_argument("--output", type=pathlib.Path, metavar="FILE", help="where to write the body")
    getting.set_defaults(run=get)
    streaming = actions.add_parser("stream")
    streaming.add_argument("--path", default="/stream")
    streaming.add_argument("--parts", type=int, metavar="N", help="leave after N of them")
    streaming.add_argument("--until", metavar="SHA256", help="leave after this image")
    streaming.add_argument("--room", type=int, metavar="BYTES", help="of the system's buffer for what is not read yet")
    streaming.add_argument("--pause-until", type=pathlib.Path, metavar="FILE", help="read nothing until FILE is there")
    streaming.set_defaults(run=stream)
    options = parser.parse_args()
    if options.user is not None:
        os.setuid(options.user)
    options.run(options)


if __name__ == "__main__":
    main()
