"""A stream between the thread that writes it and the event loop that sends it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from omnigraph.server.response_stream import ClientDisconnected, ResponseStream
from omnigraph.server.settings import ServerLimits

LIMITS = ServerLimits(chunk_bytes=10, chunks_ahead=2)


def test_every_write_after_the_reader_has_gone_fails_at_once() -> None:
    """A writer may write more than once on its way out: the footer of a file, a last buffer."""

    def write_all(outflow: ResponseStream) -> int:
        failed = 0
        for _ in range(20):
            try:
                outflow.write(b"x" * 25)
            except ClientDisconnected:
                failed += 1
        return failed

    async def run() -> int:
        outflow = ResponseStream(LIMITS)
        with ThreadPoolExecutor(1) as pool:
            writing = asyncio.wrap_future(pool.submit(write_all, outflow))
            assert await outflow.take() == b"x" * 10
            outflow.abandon()
            try:
                async with asyncio.timeout(20):
                    return await asyncio.shield(writing)
            finally:
                # The thread of a failed test ends, too.
                for _ in range(100):
                    outflow.abandon()

    # The writer may have begun its second write when the reader goes.
    assert asyncio.run(run()) in (19, 20)


def test_a_writer_waits_for_its_reader() -> None:
    async def run() -> list[bytes | None]:
        outflow = ResponseStream(LIMITS)
        with ThreadPoolExecutor(1) as pool:
            writing = asyncio.wrap_future(pool.submit(outflow.write, b"0123456789" * 5))
            await asyncio.sleep(0.05)
            assert not writing.done()
            found = [await outflow.take() for _ in range(5)]
            assert await writing == 50
            outflow.end()
            return [*found, await outflow.take()]

    assert asyncio.run(run()) == [b"0123456789"] * 5 + [None]
