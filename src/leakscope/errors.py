"""The errors a user can cause. Each message is one sentence that says what is wrong and what to do."""


class InputError(ValueError):
    """Bad input: a file, column, label, model or option that can't be used as given.

    The command line prints the message and exits with code 2; nothing has been written by then.
    """


class TrainingError(InputError):
    """A model could not be trained again; the message names the world and the learner's own error."""


class EndpointError(InputError):
    """A model behind an HTTP endpoint did not answer, however often it was asked."""


class MissingDataError(InputError):
    """A data set is not on this machine; the message says where to get it and how to use generated data instead."""


class MissingExtraError(InputError):
    """An optional package is needed; the message holds the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: run pip install 'leakscope[{extra}]'")
