"""A cable that takes its time: `slow_cable.py SECONDS NEAR FAR MAC FD`, from here into network namespace FD.

It makes a link at each end and copies every frame from one to the other, SECONDS later. The kernel could
do that with netem, but not every kernel has it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000


def make_link(name: str) -> int:
    """A descriptor that is the far end of a new link `name`: whole frames, checksums done."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def copy(near: int, far: int, delay: float) -> None:
    """Until it is killed. Frames that a link does not take are lost, as on any cable."""
    onto = {near: far, far: near}
    waiting: deque[tuple[float, int, bytes]] = deque()  # when, where to, what: the delay is always the same
    poller = select.poll()
    for fd in onto:
        poller.register(fd, select.POLLIN)
    while True:
        rest = waiting[0][0] - time.monotonic() if waiting else 0.0
        for fd, _ in poller.poll(max(0, int(rest * 1000) + 1) if waiting else None):
            try:
                waiting.append((time.monotonic() + delay, onto[fd], os.read(fd, 65536)))
            except OSError:
                continue  # the link is down
        while waiting and waiting[0][0] <= time.monotonic():
            _, fd, frame = waiting.popleft()
            try:
                os.write(fd, frame)
            except OSError:
                continue


def main() -> None:
    delay, near, far, mac, namespace = sys.argv[1:]
    here = make_link(near)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(int(namespace), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(int(namespace))
    there = make_link(far)
    os.system(f"ip link set {far} address {mac}")
    print("ready", flush=True)
    copy(here, there, float(delay))


main()
