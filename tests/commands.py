"""The command line, run as a user runs it."""

import re

import pytest

from leakscope.cli.main import main

NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+\.\d+")


def run(*arguments):
    """Run a command and give its exit code."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code or 0


def shown(capsys, *arguments):
    """Run a command and give its exit code, its output and its errors."""
    code = run(*arguments)
    return code, *capsys.readouterr()


def gate(capsys, folder, *options):
    """Exit code of the gate with a condition that always passes, and standard error."""
    code, _, err = shown(capsys, "gate", folder, "--fail-if", "auc > 0.999", "--on-uncertain", "pass", *options)
    return code, err


def check_refused(capsys, words, *arguments):
    """Wrong input is exit code 2 and one sentence with these words; nothing else is printed."""
    code, out, err = shown(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("leakscope: ")
    assert words in err


def assert_same_output(printed, shown, tolerance):
    """The same words, and the same numbers up to the tolerance."""
    assert " ".join(NUMBER.sub("#", printed).split()) == " ".join(NUMBER.sub("#", shown).split()), printed
    numbers = [[float(number.replace("−", "-")) for number in NUMBER.findall(text)] for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0, abs=tolerance + 1e-12), printed
