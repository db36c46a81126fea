"""Receives frames with httptools, that is with llhttp, the parser of Node.js."""

import httptools

import receiving


class Collector:
    """Handles the parser's callbacks, and keeps the messages that are complete."""

    def __init__(self):
        self.complete = []
        self.is_in_message = False

    def on_message_begin(self):
        self.fields, self.body, self.is_in_message = {}, bytearray(), True

    def on_header(self, name, value):
        self.fields[name.decode("ascii").lower()] = value.decode("ascii").strip()

    def on_body(self, data):
        self.body += data

    def on_message_complete(self):
        self.complete.append((self.fields, bytes(self.body)))
        self.is_in_message = False


def messages(connection):
    collector = Collector()
    parser = httptools.HttpResponseParser(collector)
    while data := connection.recv(65_536):
        try:
            parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise receiving.StreamError("malformed", str(error)) from error
        complete, collector.complete = collector.complete, []
        yield from complete
    if collector.is_in_message:
        raise receiving.StreamError("truncated", "the stream ends in a message")


if __name__ == "__main__":
    receiving.main(__doc__, messages)
