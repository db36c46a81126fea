"""Receives frames with h11, a state machine that holds both ends to RFC 9112.

Each frame is to it the response to a request, which is made up here and sent to nobody.
"""

import h11

import receiving


def ask(client):
    client.send(h11.Request(method="GET", target="/", headers=[("Host", "frames")]))
    client.send(h11.EndOfMessage())


def messages(connection):
    client = h11.Connection(h11.CLIENT)
    ask(client)
    fields, body = None, bytearray()
    try:
        while True:
            event = client.next_event()
            if event is h11.NEED_DATA:
                data = connection.recv(65_536)
                is_between = fields is None and not client.trailing_data[0]
                if not data and is_between:
                    return
                client.receive_data(data)
            elif isinstance(event, h11.Response):
                fields = {name.decode("ascii"): value.decode("ascii") for name, value in event.headers}
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                yield fields, bytes(body)
                fields, body = None, bytearray()
                client.start_next_cycle()
                ask(client)
    except h11.RemoteProtocolError as error:
        code = "truncated" if client.trailing_data[1] else "malformed"
        raise receiving.StreamError(code, str(error)) from error


if __name__ == "__main__":
    receiving.main(__doc__, messages)
