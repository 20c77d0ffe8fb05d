"""Exception classes of the package. Each message states the problem and the remedy."""

import errno
from collections.abc import Iterator

#: Operating system error numbers for exhausted or failed resources: disk, quota, memory, processes, open files.
MACHINE_FAULTS = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE, errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE
}  # fmt: skip


class InputError(ValueError):
    """Invalid input: a file, column, label, model or option that cannot be used.

    The command line prints the message and exits with code 2. No output has been written.
    """


class TrainingError(InputError):
    """Retraining failed; the message names the training set and the error that the learner raised."""


class EndpointError(InputError):
    """An HTTP endpoint did not answer, and all retries failed."""


class MissingDataError(InputError):
    """A data set is not on this machine; the message states where to get it and how to use synthetic data instead."""


class MissingExtraError(InputError):
    """An optional package is missing; the message contains the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: run pip install 'leakscope[{extra}]'")


class ResourceError(RuntimeError):
    """A resource of the machine failed: memory, a disk, a worker process or the cluster.

    This is not an `InputError`, because the input is valid. Finished work stays in the cache, and the same call resumes
    there. The command line prints the message and exits with code 3.
    """


def resource_error(error: BaseException) -> ResourceError | None:
    """Return the `ResourceError` to raise if a failed resource of the machine caused an error, otherwise None.

    The search includes the cause and the context of the error.

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
    """Return the error to raise after a failed write: `ResourceError` for a full disk, `InputError` for a bad path."""
    kind = ResourceError if error.errno in MACHINE_FAULTS else InputError
    return kind(f"can't write to {place}: {error.strerror or error}")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then its cause or context, up to the first one."""
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
    """Recognise torch errors too: an exception class for GPU memory, and only a message for main memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
