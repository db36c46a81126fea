"""Watches a preview as programs other than browsers do, with Python's own HTTP client.

`stream` reads the images of `/stream` as strict readers do, and prints each as soon
as its last byte has come; then how the stream ended. `poll` asks for one image after another, as the page does. All send the
token in the URL as a cookie, as browsers do.
"""

import argparse
import hashlib
import http.client
import os
import pathlib
import socket
import time
import urllib.parse

import patience
import sending


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


def ask(connection, url, path, tag=None):
    connection.putrequest("GET", path)
    address = urllib.parse.urlsplit(url)
    for token in urllib.parse.parse_qs(address.query).get("token", []):
        connection.putheader("Cookie", f"framesocket-{address.port}={token}")
    if tag:
        connection.putheader("If-None-Match", tag)
    connection.endheaders()
    return connection.getresponse()


def parts(response, boundary):
    """The bodies of the parts, each of exactly as many bytes as its header says; all else must be as RFC 2046 has it."""
    isFirst = True
    while True:
        line = response.readline()
        if line == b"\r\n" and not isFirst:
            # The line break that belongs to the boundary.
            line = response.readline()
        if line != b"--" + boundary + b"\r\n":
            raise ValueError(f"{line!r} in place of the boundary")
        isFirst = False
        fields = {}
        while (line := response.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("ascii").partition(":")
            fields[name.strip().lower()] = value.strip()
        if not line:
            # The stream ends where the next part would begin.
            if fields:
                raise ValueError(f"the stream ends within a header: {fields}")
            return
        if fields.get("content-type") != "image/jpeg":
            raise ValueError(f"not the header of an image: {fields}")
        count = int(fields["content-length"])
        body = response.read(count)
        if len(body) != count or not body.startswith(b"\xff\xd8"):
            raise ValueError(f"{len(body)} bytes of {count}, which begin with {body[:2]!r}")
        yield body


class Collection:
    """Prints images until there are enough."""

    def __init__(self, options):
        self.options = options
        self.count = 0

    def add(self, body):
        """Whether that was the last one that is wanted."""
        digest = hashlib.sha256(body).hexdigest()
        sending.say("part", index=self.count, bytes=len(body), sha256=digest)
        self.count += 1
        isLast = self.count == self.options.parts or digest == self.options.until
        if isLast:
            sending.say("enough", parts=self.count)
        return isLast


def pause(options):
    if options.pause_until:
        while not options.pause_until.exists():
            time.sleep(0.02)


def stream(options):
    response = ask(connect(options.url, options.timeout, options.room), options.url, options.path)
    boundary = response.headers.get_param("boundary") or ""
    sending.say("begin", status=response.status, type=response.headers.get_content_type())
    pause(options)
    images = Collection(options)
    for body in parts(response, boundary.encode()):
        if images.add(body):
            return
    sending.say("end", parts=images.count)


def poll(options):
    """Asks on one connection for what comes after the image that it has."""
    connection = connect(options.url, options.timeout, options.room)
    path = f"{options.path}?viewer={os.getpid()}"
    images = Collection(options)
    tag = None
    isFirst = True
    while True:
        response = ask(connection, options.url, path, tag)
        if isFirst:
            sending.say("begin", status=response.status, type=response.headers.get_content_type())
            pause(options)
        isFirst = False
        body = response.read()
        if response.status == 200:
            tag = response.headers["ETag"]
            if images.add(body):
                return
        elif response.status not in (204, 304):
            sending.say("end", parts=images.count, status=response.status)
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--timeout", type=float, default=patience.LENGTH, metavar="SECONDS", help="to wait for anything (60)")
    actions = parser.add_subparsers(required=True)
    for name, path, action in ("stream", "/stream", stream), ("poll", "/image", poll):
        watching = actions.add_parser(name)
        watching.add_argument("--path", default=path)
        watching.add_argument("--parts", type=int, metavar="N", help="leave after N images")
        watching.add_argument("--until", metavar="SHA256", help="leave after this image")
        watching.add_argument("--room", type=int, metavar="BYTES", help="of the system's buffer for what is not read yet")
        watching.add_argument("--pause-until", type=pathlib.Path, metavar="FILE", help="read nothing until FILE is there")
        watching.set_defaults(run=action)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
