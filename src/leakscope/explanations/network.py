"""Networks: explanations by derivatives, in batches, with bounded memory. Needs torch.

Parameters are held fixed, so that a backward pass costs no more than the derivative by the records does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call

from leakscope.adapters import evaluation_mode
from leakscope.errors import InputError
from leakscope.explanations.linear import quadrature
from leakscope.explanations.noise import mixed
from leakscope.explanations.rules import Rules, stabilised
from leakscope.explanations.settings import FeatureExplanation
from leakscope.models import Outputs

#: Rows of a pass, for records of few columns; wide records go fewer at a time.
ROWS, NUMBERS = 8192, 1 << 22
#: Steps of integrated gradients are doubled up to this for records that need them.
MOST_STEPS = 1600
#: By how much the sum of an explanation may miss the change of the output, in units of the largest output.
INCOMPLETE = 1e-3


@dataclass(frozen=True)
class NetworkView:
    """A torch module, and how a class's probability or logit is read from what it gives.

    Parameters
    ----------
    module
        Any differentiable module.
    outputs
        What it gives; ``"values"`` for regression.
    """

    module: Any
    outputs_are: Outputs | str

    def explain(self, X: NDArray[Any], how: FeatureExplanation, keys: NDArray[np.uint64]) -> NDArray[Any]:
        """Explanations of records, in the shape of the records; ``keys`` seed the noise of each."""
        with evaluation_mode(self.module), torch.enable_grad():
            return _Work(self, how).run(X, keys)

    def head(self, raw: Any, how: FeatureExplanation) -> Any:
        """What may be explained: one column per class."""
        raw = raw.reshape(len(raw), -1)
        if self.outputs_are == "values":
            return raw
        single = raw.shape[1] == 1
        if how.explains == "logit":
            return torch.cat([-raw, raw], dim=1) if single else raw
        if self.outputs_are == "logits":
            return torch.sigmoid(torch.cat([-raw, raw], dim=1)) if single else torch.softmax(raw, dim=1)
        shown = raw.exp() if self.outputs_are == "log-probabilities" else raw
        return torch.cat([1 - shown, shown], dim=1) if single else shown

    def without_softmax(self) -> NetworkView | None:
        """The view of the network before its last softmax or sigmoid; None if that can't be taken off."""
        if self.outputs_are in ("logits", "values"):
            return self
        last = self.module[-1] if isinstance(self.module, torch.nn.Sequential) and len(self.module) else None
        if isinstance(last, torch.nn.Softmax | torch.nn.LogSoftmax | torch.nn.Sigmoid | torch.nn.LogSigmoid):
            return NetworkView(self.module[:-1], "logits")
        return None


class _Work:
    """One explanation method on one network."""

    def __init__(self, view: NetworkView, how: FeatureExplanation) -> None:
        self.view, self.how = view, how
        self.state = {name: part.detach() for name, part in view.module.state_dict(keep_vars=True).items()}
        parameter = next(iter(view.module.parameters()), torch.zeros(0))
        self.dtype, self.device = parameter.dtype, parameter.device

    def run(self, X: NDArray[Any], keys: NDArray[np.uint64]) -> NDArray[Any]:
        found = np.empty(X.shape, np.float64 if self.dtype == torch.float64 else np.float32)
        method: Callable[[Any], Any] = getattr(self, self.how.method)
        width = {"integrated_gradients": self.how.steps, "smoothgrad": self.how.samples}.get(self.how.method, 1)
        for rows in blocks(X, width):
            self.keys = keys[rows]
            found[rows] = method(self.tensor(X[rows])).cpu().numpy()
        return found

    def tensor(self, X: NDArray[Any]) -> Any:
        return torch.from_numpy(np.ascontiguousarray(X)).to(device=self.device, dtype=self.dtype)

    def outputs(self, x: Any) -> Any:
        raw = functional_call(self.view.module, self.state, (x,))
        if not isinstance(raw, torch.Tensor):
            raise InputError(f"the network returns a {type(raw).__name__}: wrap it in a module that returns one tensor")
        return self.view.head(raw, self.how)

    def slope(self, x: Any, code: Any = None) -> tuple[Any, Any, Any]:
        """Derivative of the explained output, that output, and its class; the class is the predicted one if not given."""
        x = x.detach().requires_grad_()
        shown = self.outputs(x)
        code = shown.detach().argmax(dim=1, keepdim=True) if code is None else code
        own = shown.gather(1, code)
        if not own.requires_grad:
            raise InputError("the network's output does not depend on the records by a differentiable way")
        (slope,) = torch.autograd.grad(own.sum(), x)
        return slope, own.detach()[:, 0], code

    # --- methods --------------------------------------------------------------------------------------------------------

    def gradient(self, x: Any) -> Any:
        return self.slope(x)[0]

    def gradient_x_input(self, x: Any) -> Any:
        return self.slope(x)[0] * x

    def smoothgrad(self, x: Any) -> Any:
        samples = self.how.samples
        with torch.no_grad():
            code = self.outputs(x).argmax(dim=1, keepdim=True)
        moved = self.noise(x).add_(x[:, None])
        slope, _, _ = self.slope(moved.reshape(-1, *x.shape[1:]), code.repeat_interleave(samples, dim=0))
        return slope.reshape(moved.shape).mean(dim=1)

    def noise(self, x: Any) -> Any:
        """So many draws for each record, by a generator that the record and the seed make."""
        drawn = torch.empty(len(x), self.how.samples, *x.shape[1:], dtype=self.dtype)
        generator = torch.Generator()
        for row, seed in zip(drawn, mixed(self.keys, self.how.seed).tolist(), strict=True):
            generator.manual_seed(seed)
            row.normal_(0.0, self.how.sigma, generator=generator)
        return drawn.to(self.device)

    def integrated_gradients(self, x: Any) -> Any:
        baseline = torch.full_like(x[:1], self.how.baseline)
        with torch.no_grad():
            at_end, at_start = self.outputs(x), self.outputs(baseline)
        code = at_end.argmax(dim=1, keepdim=True)
        change = (at_end - at_start).gather(1, code)[:, 0]
        scale = max(1.0, float(at_end.abs().max()), float(at_start.abs().max()))
        found = torch.empty_like(x)
        todo, steps = torch.arange(len(x), device=x.device), self.how.steps
        while len(todo):
            for rows in todo.split(max(1, _rows(x[0].numel()) // steps)):
                found[rows] = self._path(x[rows], baseline, code[rows], steps)
            missed = (found[todo].flatten(1).sum(dim=1) - change[todo]).abs()
            todo = todo[missed > INCOMPLETE * scale]
            if len(todo) and steps >= MOST_STEPS:
                raise InputError(
                    f"integrated gradients with {steps} steps still miss the change of the output by "
                    f"{float(missed.max()):.2g} for {len(todo)} records: the output jumps along the path, so take gradient, "
                    "or another baseline"
                )
            steps = min(2 * steps, max(steps, MOST_STEPS))
        return found

    def _path(self, x: Any, baseline: Any, code: Any, steps: int) -> Any:
        nodes, weights = (torch.from_numpy(part).to(x) for part in quadrature(steps))
        direction = x - baseline
        points = baseline + nodes.reshape(-1, *[1] * x.ndim) * direction
        slope, _, _ = self.slope(points.reshape(-1, *x.shape[1:]), code.repeat(steps, 1))
        return torch.mv(slope.reshape(steps, -1).T, weights).reshape(x.shape).mul_(direction)

    def lrp(self, x: Any) -> Any:
        x = x.detach().requires_grad_()
        with Rules(self.how.epsilon):
            shown = self.outputs(x)
        own = shown.gather(1, shown.detach().argmax(dim=1, keepdim=True))
        z = own.detach()
        (slope,) = torch.autograd.grad((own * (z / stabilised(z, self.how.epsilon))).sum(), x)
        return slope * x.detach()

    def deeplift(self, x: Any) -> Any:
        baseline = torch.full_like(x[:1], self.how.baseline)
        both = torch.cat([x, baseline]).requires_grad_()
        with Rules(None):
            shown = self.outputs(both)
        code = shown[:-1].detach().argmax(dim=1, keepdim=True)
        own = shown[:-1].gather(1, code)
        (slope,) = torch.autograd.grad(own.sum(), both)
        found = slope[:-1] * (x - baseline)
        change = own.detach()[:, 0] - shown[-1].detach()[code[:, 0]]
        missed = float((found.flatten(1).sum(dim=1) - change).abs().max())
        if missed > INCOMPLETE * max(1.0, float(shown.detach().abs().max())):
            raise InputError(
                f"deeplift misses the change of the output by {missed:.2g}: the network does something that the rescale rule "
                "can't see, so take gradient, integrated_gradients or smoothgrad"
            )
        return found


def blocks(X: NDArray[Any], width: int = 1) -> Iterator[slice]:
    """Rows that go through the network together when each takes ``width`` passes."""
    step = max(1, _rows(int(np.prod(X.shape[1:]))) // width)
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))


def _rows(features: int) -> int:
    return int(np.clip(NUMBERS // max(features, 1), 64, ROWS))
