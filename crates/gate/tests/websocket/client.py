"""Uses the gate at the given wss:// URL by the package `websockets`. With a second argument it waits
to be closed, and prints the code."""

import ssl
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE

with connect(sys.argv[1], ssl=context, max_size=None) as socket:
    for size in (0, 1, 125, 126, 65535, 65536, 1_000_000):
        for data in ("x" * size, bytes(size)):
            socket.send(data)
            assert socket.recv() == data
    assert socket.ping().wait(20)
    # Messages in several frames.
    socket.send(part for part in ["a", "b", "c"])
    assert socket.recv() == "abc"
    if len(sys.argv) > 2:
        print("waits", flush=True)
        try:
            socket.recv()
        except ConnectionClosed as closed:
            print(closed.rcvd.code)
    else:
        print("passed")
