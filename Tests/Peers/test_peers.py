"""The peers against each other and against Fixtures: `.tools/venv/bin/python Tests/Peers/test_peers.py`."""

import functools
import json
import pathlib
import socket
import threading
import unittest

import receive_deployed
import receive_h11
import receive_http_client
import receive_httptools
import receiving
import send_deployed
import send_stream

PEERS = pathlib.Path(__file__).resolve().parent
FIXTURES = PEERS.parent.parent / "Fixtures"
STREAMS = sorted((FIXTURES / "streams").glob("*.http"))
JPEGS = sorted((FIXTURES / "jpeg").glob("*.jpg"))
PARSERS = [receive_http_client, receive_httptools, receive_h11]
KEYS = ["width", "height", "orientation", "bytes", "sha256", "jpegWidth", "jpegHeight"]


def run(messages, data, pieces=None):
    """What a receiver returns for bytes: the frames, and the code of the error or None."""
    near, far = socket.socketpair()

    def send():
        with near:
            for piece in pieces or [data]:
                near.sendall(piece)

    sender = threading.Thread(target=send)
    sender.start()
    frames, code = [], None
    with far:
        try:
            for fields, body in messages(far):
                frames.append(receiving.describe(fields, body))
        except receiving.StreamError as error:
            code = error.code
    sender.join()
    return frames, code


def expected(stream):
    """What must be received according to a stream's JSON."""
    expectation = json.loads(stream.with_suffix(".json").read_text())
    frames = [{key: frame.get(key, frame["contentLength"]) for key in KEYS} for frame in expectation["frames"]]
    return frames, expectation["error"] and expectation["error"]["code"]


class Parsers(unittest.TestCase):
    """The fixtures as read by the three parsers, in writes of any size."""

    def test_fixtures(self):
        for stream in STREAMS:
            data = stream.read_bytes()
            for chunk in ["all", "10240", "random", "1"]:
                if chunk == "1" and len(data) > 40_000:
                    continue
                for parser in PARSERS:
                    with self.subTest(stream=stream.stem, chunk=chunk, parser=parser.__name__):
                        pieces = send_stream.pieces(data, chunk, seed=7)
                        self.assertEqual(run(parser.messages, data, pieces), expected(stream))

    def test_not_a_response(self):
        for parser in PARSERS:
            with self.subTest(parser=parser.__name__):
                self.assertEqual(run(parser.messages, b"GET / HTTP/1.1\r\n\r\n"), ([], "malformed"))

    def test_deployed_sender(self):
        for order in send_deployed.ORDERS:
            data = b"".join(send_deployed.message(path.read_bytes(), order, 6) for path in JPEGS)
            for parser in PARSERS:
                with self.subTest(order=order, parser=parser.__name__):
                    frames, code = run(parser.messages, data)
                    self.assertEqual(([frame["orientation"] for frame in frames], code), ([6] * len(JPEGS), None))


class Deployed(unittest.TestCase):
    """The existing Jitsi receiver survives what it can and fails where it does."""

    greedy = staticmethod(functools.partial(receive_deployed.messages, is_greedy=True))

    def stream(self, name):
        return FIXTURES / f"streams/{name}.http"

    def test_bodies_of_10240_bytes_come_through(self):
        for name in ["order-older", "order-current", "zero-padded", "jitsi-562-on-563", "getstream-quality-70"]:
            for messages in [self.greedy, receive_deployed.messages]:
                with self.subTest(stream=name, messages=messages):
                    stream = self.stream(name)
                    self.assertEqual(run(messages, stream.read_bytes()), expected(stream))

    def test_small_frames_wedge_it(self):
        self.assertEqual(run(self.greedy, self.stream("small-frames").read_bytes()), ([], "wedged"))

    def test_small_frames_one_at_a_time_come_through(self):
        stream = self.stream("small-frames")
        frames, _ = expected(stream)
        data = stream.read_bytes()
        offsets = [frame["headOffset"] for frame in json.loads(stream.with_suffix(".json").read_text())["frames"]]
        for frame, start, end in zip(frames, offsets, offsets[1:] + [len(data)]):
            self.assertEqual(run(self.greedy, data[start:end]), ([frame], None))

    def test_a_cut_is_told(self):
        for name in ["cut-in-body", "cut-in-head"]:
            with self.subTest(stream=name):
                stream = self.stream(name)
                self.assertEqual(run(self.greedy, stream.read_bytes()), expected(stream))


if __name__ == "__main__":
    unittest.main()
