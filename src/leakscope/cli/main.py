"""The program ``leakscope``: its commands, and errors as one sentence and an exit code."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from leakscope.cli.attributes import attributes
from leakscope.cli.audit import audit
from leakscope.cli.causal import causal
from leakscope.cli.compare import compare
from leakscope.cli.data import data
from leakscope.cli.demo import demo
from leakscope.cli.diff import diff
from leakscope.cli.frontier import frontier
from leakscope.cli.gate import gate
from leakscope.cli.leakage import leakage
from leakscope.cli.options import Command
from leakscope.cli.reconstruct import reconstruct
from leakscope.cli.report import report
from leakscope.cli.reproduce import reproduce
from leakscope.cli.scores import scores
from leakscope.cli.selfcheck import selfcheck
from leakscope.core.errors import InputError, chain, resource_error
from leakscope.core.failures import frames

#: Exit codes; 0 is done, and 1 (`GATE_FAILED`) a failed gate or check. Those from 128 on are 128 and a signal's number.
BAD_INPUT, NO_RESOURCE, BROKEN, STOPPED, CLOSED, TERMINATED = 2, 3, 70, 130, 141, 143


def _new_app() -> typer.Typer:
    return typer.Typer(
        help="Measure what a machine-learning model reveals about its training data.",
        epilog="Exit codes: 0 done, 1 a gate or check failed, 2 bad input, 3 the machine failed (memory, disk, workers; run "
        "again to resume), 70 a defect, 130 Ctrl-C, 141 output closed, 143 terminated.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )


app = _new_app()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and turn errors into exit codes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without “ or … shows a question mark
    given = sys.argv[1:] if arguments is None else arguments
    if sys.stdout is None:  # the next file that is opened would take its place
        _say("standard output is closed: redirect it to a file or to /dev/null")
        raise SystemExit(CLOSED)
    with _discarding(), _without_logs(), _terminable() as received:
        try:
            _run(given)
        except KeyboardInterrupt:
            _say(f"stopped{_advice(given)}")
            raise SystemExit(TERMINATED if received else STOPPED) from None
        except OSError:  # standard error can't be written to either
            raise SystemExit(NO_RESOURCE) from None


def _run(given: list[str]) -> None:
    try:
        code = _app_for(given)(args=given, standalone_mode=False, obj=given)
        if code == STOPPED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
    except SystemExit as error:
        if _is_closed_pipe(error):  # what Rich and Typer make of a closed output, with code 1
            raise SystemExit(CLOSED) from None
        # Only foreign code ends here. Its exit code is no statement about the model, and its message may hold values.
        _say("the model, or a library that it uses, ended the program (SystemExit): remove sys.exit from its code")
        raise SystemExit(BAD_INPUT) from None
    except Exception as error:
        if (fault := resource_error(error)) is not None:
            _say(f"{fault}{_advice(given)}")
            raise SystemExit(NO_RESOURCE) from None
        if isinstance(error, InputError):
            _say(str(error))
            raise SystemExit(BAD_INPUT) from None
        if isinstance(error, BrokenPipeError):  # `leakscope … | head` ends without a word, as other programs do
            raise SystemExit(CLOSED) from None
        if hasattr(error, "format_message"):  # a wrong option or command, told by Typer
            _print_usage(error)
            raise SystemExit(BAD_INPUT) from None
        print(frames(error), file=sys.stderr)
        print("leakscope: this is a defect of leakscope; please report it with the lines above", file=sys.stderr)
        raise SystemExit(BROKEN) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _app_for(given: list[str]) -> typer.Typer:
    """Give the app; for a command that pipelines run often one with this command only, which is made in less time."""
    quick: dict[str, Callable[..., None]] = {"gate": gate, "diff": diff}
    if not given or given[0] not in quick:
        return app
    small = _new_app()
    small.callback()(_about)
    small.command()(quick[given[0]])
    return small


def _is_closed_pipe(error: BaseException) -> bool:
    return any(isinstance(cause, BrokenPipeError) for cause in chain(error))


def _say(sentence: str) -> None:
    """Print one line on standard error, if anything can be printed there."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"leakscope: {' '.join(sentence.split())}", file=sys.stderr, flush=True)


def _advice(given: list[str]) -> str:
    """Say how to resume, where the command can keep finished work."""
    if any(word == "--cache" or word.startswith("--cache=") for word in given):
        return "; finished trainings are in the cache: run the same command again to resume"
    command = getattr(typer.main.get_command(app), "commands", {}).get(given[0] if given else "")
    if any("--cache" in option.opts for option in getattr(command, "params", ())):
        return "; add --cache DIR to keep finished trainings, so that the same command can resume"
    return ""


@contextlib.contextmanager
def _terminable() -> Iterator[list[int]]:
    """Stop on SIGTERM as on Ctrl-C, and say whether it came; a second one ends the process at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # Python allows signal handlers there alone
        yield received
        return

    def stop(number: int, _: Any) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # none where another program set it


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Keep the logs of libraries off standard error: Dask prints tracebacks for what ends here in one sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _discarding() -> Iterator[None]:
    """Drop what can't be written: Python would try again at exit, complain, and change the exit code."""
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):  # Typer replaces those of a closed pipe
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                _redirect_to_nowhere(stream)


def _redirect_to_nowhere(stream: Any) -> None:
    with contextlib.suppress(OSError, ValueError):  # a stream without a file needs nothing
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _print_usage(error: Any) -> None:
    """One sentence for a wrong option; the help itself where nothing was asked for."""
    message = " ".join(error.format_message().split())
    if message:
        _say(f"{message.rstrip('.')}: see leakscope --help")
    else:
        error.show()


def _version(wanted: bool) -> None:
    if wanted:
        from leakscope import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None: ...


COMMANDS: tuple[Callable[..., None], ...] = (
    *(audit, compare, scores, report, diff, gate, frontier, causal, attributes, leakage, reconstruct),
    *(demo, selfcheck, reproduce),
)
for command in COMMANDS:
    app.command(cls=Command)(command)
app.add_typer(data, name="data")
