"""A service manager's socket for the notifications of sd_notify(3), at a path; one that begins with `@` is abstract.

Prints `bound`, and then each message as a line of Python; or, with --full, reads nothing, and prints `full` once no more fits
into its queue.
"""

import argparse
import socket
import time


def unbound():
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.setblocking(False)
    return end


def fill(address):
    """Fills the queue: it is full when a socket that has sent nothing yet cannot send, as others may have reached their own limit."""
    senders = []
    while True:
        senders.append(unbound())
        count = 0
        try:
            while True:
                senders[-1].sendto(b"x", address)
                count += 1
        except BlockingIOError:
            if not count:
                return senders


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--full", action="store_true", help="read nothing, and have a full queue")
    options = parser.parse_args()
    address = options.path.replace("@", "\0", 1) if options.path.startswith("@") else options.path
    manager = unbound()
    manager.bind(address)
    if options.full:
        senders = fill(address)
        print("full", flush=True)
        time.sleep(1000)
    manager.setblocking(True)
    print("bound", flush=True)
    while True:
        print(repr(manager.recv(4096)), flush=True)


if __name__ == "__main__":
    main()
