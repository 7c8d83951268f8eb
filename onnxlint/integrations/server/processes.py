"""Processes that analyse: forked from one that has everything imported, and ended when nobody waits for them."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import msgspec

from onnxlint.base.lifetimes import end_with
from onnxlint.integrations.server.editor_analysis import Answer, Job, answer_of

_answers = msgspec.json.Decoder(Answer)


class Analyser:
    """Runs jobs, each in a process of its own."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")

    async def run(self, job: Job) -> Answer:
        """Run a job. Where this is cancelled, the process ends at once."""
        mine, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(theirs, job), daemon=True)
        # The first one waits until everything is imported. A start cannot be called off: what it starts is ended then.
        start = asyncio.ensure_future(asyncio.to_thread(process.start))
        try:
            await asyncio.shield(start)
            theirs.close()
            data = await _received(mine)
        except (OSError, EOFError) as error:
            return Answer(fault=f"no process for the analysis can be started: {error or type(error).__name__}")
        finally:
            start.add_done_callback(lambda started: _end(process, started, mine, theirs))
        if data is None:
            await asyncio.to_thread(process.join)
            return Answer(fault=f"the analysis ended before its time (exit code {process.exitcode})")
        return _answers.decode(data)


def _end(process: BaseProcess, started: asyncio.Future[None], *connections: Connection) -> None:
    """End a process that has been started, and what leads to it."""
    if not started.cancelled() and started.exception() is None:
        process.kill()
    for connection in connections:
        connection.close()


async def _received(connection: Connection) -> bytes | None:
    """What comes in; None where the other end closes first. No thread waits meanwhile."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    handle = connection.fileno()
    loop.add_reader(handle, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(handle)
    try:
        return await asyncio.to_thread(connection.recv_bytes)
    except (EOFError, OSError):
        return None


def _work(connection: Connection, job: Job) -> None:
    """What a process does: analyse, send, end; at once if the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on a terminal it goes to all; the server decides
    end_with(os.getppid())
    threading.Thread(target=_end_with_server, daemon=True).start()
    os.nice(5)  # the editor comes first
    answer = msgspec.json.encode(answer_of(job))
    with contextlib.suppress(OSError):  # nobody waits any more
        connection.send_bytes(answer)


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)
