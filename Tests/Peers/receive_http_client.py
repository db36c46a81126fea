"""Receives frames with http.client of Python's standard library, which is written to read responses."""

import http.client
import io
import socket

import receiving


class SharedReader(io.BufferedReader):
    """A response closes its file at its end; the next response is in the same one."""

    def close(self):
        pass


class Responses:
    """As much of a socket as HTTPResponse asks for."""

    def __init__(self, connection):
        self.reader = SharedReader(socket.SocketIO(connection, "r"))

    def makefile(self, mode):
        return self.reader


def messages(connection):
    responses = Responses(connection)
    # An empty read at the start of a message is the sender's orderly close.
    while responses.reader.peek(1):
        response = http.client.HTTPResponse(responses)
        try:
            response.begin()
            if response.length is None:
                raise receiving.StreamError("truncated", "the stream ends in a head")
            body = response.read()
        except http.client.IncompleteRead as error:
            raise receiving.StreamError("truncated", str(error)) from error
        except http.client.HTTPException as error:
            raise receiving.StreamError("malformed", repr(error)) from error
        yield {name.lower(): value for name, value in response.getheaders()}, body


if __name__ == "__main__":
    receiving.main(__doc__, messages)
