"""The errors that a run can end with. Each message is one sentence that says what is wrong and what to do."""

import errno
from collections.abc import Iterator

#: Error numbers of the operating system for a resource that failed: disk, quota, memory, processes, open files.
MACHINE_FAULTS = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE, errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE
}  # fmt: skip


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


class ResourceError(RuntimeError):
    """A resource of the machine failed: memory, a disk, a worker process or the cluster.

    The input is not at fault, so this is no `InputError`. Finished work stays in the cache, and the same call resumes
    there. The command line prints the message and exits with code 3.
    """


def resource_error(error: BaseException) -> ResourceError | None:
    """Give the error to raise instead where a failed resource of the machine caused an error, or None.

    The errors that it was raised from or during are searched too.

    Examples
    --------
    >>> resource_error(MemoryError())
    ResourceError('out of memory: use fewer workers or a machine with more memory')
    >>> resource_error(ValueError("no such column")) is None
    True
    """
    for cause in chain(error):
        if isinstance(cause, EndpointError):  # the connection to an endpoint failed, not this machine
            return None
        if isinstance(cause, ResourceError):
            return cause
        if _is_out_of_memory(cause):
            return ResourceError("out of memory: use fewer workers or a machine with more memory")
        if isinstance(cause, OSError) and cause.errno in MACHINE_FAULTS:
            return ResourceError(_refusal(cause))
    return None


def write_error(place: str, error: OSError) -> ResourceError | InputError:
    """Give the error to raise where writing failed: a full disk is the machine's fault, a wrong place the input's."""
    kind = ResourceError if error.errno in MACHINE_FAULTS else InputError
    return kind(f"can't write to {place}: {error.strerror or error}")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then what it was raised from or during, to the first cause."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _refusal(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        place = "a file or to standard output" if error.filename is None else repr(str(error.filename))
        return f"can't write to {place}: {error.strerror}"
    return f"the operating system refused a resource: {error.strerror}"


def _is_out_of_memory(error: BaseException) -> bool:
    """Torch has a type of its own for a GPU's memory, and for that of the machine only a message."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
