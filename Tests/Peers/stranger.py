"""Meets a program as another user, which only root can start.

`connect` prints how many bytes a server sends before anything is written to it: 1 at most, or `reset`. `listen` prints
`listening`, and then how many bytes the first who connects writes, 1 at most.
"""

import argparse
import encodings.idna  # Loaded late otherwise, when another user may not be able to read it.
import os
import socket
import time


def connect(options):
    client = socket.socket(socket.AF_UNIX)
    client.connect(options.path)
    try:
        print(len(client.recv(1)))
    except ConnectionError:
        print("reset")


def listen(options):
    server = socket.socket(socket.AF_UNIX)
    server.bind(options.path)
    server.listen()
    print("listening", flush=True)
    print(len(server.accept()[0].recv(1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--user", type=int, default=65_534, metavar="UID", help="who to be (65534)")
    actions = parser.add_subparsers(required=True)
    for action in (connect, listen):
        meeting = actions.add_parser(action.__name__)
        meeting.add_argument("path")
        meeting.set_defaults(run=action)
    options = parser.parse_args()
    os.setgroups([])
    os.setuid(options.user)
    options.run(options)


if __name__ == "__main__":
    main()
