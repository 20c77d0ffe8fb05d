"""Feature explanations of networks by derivatives, in batches with bounded memory. Needs torch.

Parameters are held fixed, so that a backward pass computes only the derivative by the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call

from leakscope.core.errors import InputError
from leakscope.core.failures import cause, describe
from leakscope.models.adapters import evaluation_mode, first_parameter, tensor_of
from leakscope.models.model import Outputs
from leakscope.releases.feature_explanations.linear import quadrature
from leakscope.releases.feature_explanations.noise import mixed
from leakscope.releases.feature_explanations.rules import EpsilonRule, Reference, RescaleRule, stabilised
from leakscope.releases.feature_explanations.settings import LAYERWISE, FeatureExplanation

#: Largest number of rows of a pass, and of numbers that all of them keep for the backward pass.
ROWS, NUMBERS = 8192, 1 << 23
#: Largest error of the sum of an explanation against the change of the output, relative to the largest number in it.
INCOMPLETE = 1e-3
#: Inaccurate pieces of the path of integrated gradients, per record on average, at which the method fails.
MOST_PIECES = 256
#: How often a piece of the path of integrated gradients is halved.
HALVINGS = 40


@dataclass(frozen=True)
class NetworkView:
    """A torch module, and how its outputs give the probability or logit of a class; ``"values"`` for regression."""

    module: Any
    outputs_are: Outputs | str

    def explain(self, X: NDArray[Any], how: FeatureExplanation, keys: NDArray[np.uint64]) -> NDArray[Any]:
        """Return the explanations of records, in the shape of the records; ``keys`` seed the noise of each."""
        with evaluation_mode(self.module), torch.enable_grad():
            return _MethodRun(self, how, X[:1]).run(X, keys)

    def head(self, raw: Any, how: FeatureExplanation) -> Any:
        """Return the outputs that can be explained: one column per class."""
        raw = raw.reshape(len(raw), -1)
        if self.outputs_are == "values":
            if raw.shape[1] != 1:
                raise InputError(f"the network gives {raw.shape[1]} values per record: explain one of them at a time")
            return raw
        single = raw.shape[1] == 1
        if how.explains == "logit":
            return torch.cat([-raw, raw], dim=1) if single else raw
        if self.outputs_are == "logits":
            return torch.sigmoid(torch.cat([-raw, raw], dim=1)) if single else torch.softmax(raw, dim=1)
        shown = raw.exp() if self.outputs_are == "log-probabilities" else raw
        return torch.cat([1 - shown, shown], dim=1) if single else shown

    def without_softmax(self) -> NetworkView | None:
        """Return the view of the network before its last softmax or sigmoid; None if it can't be removed."""
        if self.outputs_are in ("logits", "values"):
            return self
        last = self.module[-1] if isinstance(self.module, torch.nn.Sequential) and len(self.module) else None
        if isinstance(last, torch.nn.Softmax | torch.nn.LogSoftmax | torch.nn.Sigmoid | torch.nn.LogSigmoid):
            return NetworkView(self.module[:-1], "logits")
        return None


class _MethodRun:
    """One explanation method on one network."""

    def __init__(self, view: NetworkView, how: FeatureExplanation, first: NDArray[Any]) -> None:
        self.view, self.how = view, how
        self.state = {name: part.detach() for name, part in view.module.state_dict(keep_vars=True).items()}
        parameter = first_parameter(view.module)
        self.dtype, self.device = parameter.dtype, parameter.device
        if self.dtype not in (torch.float16, torch.float32, torch.float64):
            kind = str(self.dtype).removeprefix("torch.")
            raise InputError(f"the network computes in {kind}: convert it with float() first")
        self.scripted = any(isinstance(part, torch.jit.ScriptModule) for part in view.module.modules())
        if self.scripted and how.method in LAYERWISE:
            raise InputError(
                f"{how.method} can't be computed for TorchScript modules: pass the module before scripting or tracing, "
                "or use gradient, integrated_gradients or smoothgrad"
            )
        self.writes = True
        self.baseline = torch.full_like(self.tensor(first), how.baseline)
        self.rows = self._probe(self.tensor(first))

    def _probe(self, first: Any) -> int:
        """Rows of a pass, from the numbers that one record needs; and whether the network modifies its input."""
        fixed, kept = {part.data_ptr() for part in self.state.values()}, 0

        def count(part: Any) -> Any:
            nonlocal kept
            kept += 0 if part.data_ptr() in fixed else part.numel()
            return part

        record = first.detach().requires_grad_().clone()
        with torch.autograd.graph.saved_tensors_hooks(count, lambda part: part):
            answer = self._call(record)
        self.writes = record._version > 0
        again = self._call(first.detach().clone())
        if not torch.allclose(answer, again, rtol=1e-3, equal_nan=True):
            raise InputError(
                "the network gives different outputs for the same record: look for dropout or noise that is active "
                "in evaluation mode"
            )
        return int(np.clip(NUMBERS // max(kept, first.numel(), 1), 1, ROWS))

    def run(self, X: NDArray[Any], keys: NDArray[np.uint64]) -> NDArray[Any]:
        found = np.empty(X.shape, np.float64 if self.dtype == torch.float64 else np.float32)
        method: Callable[[Any], Any] = getattr(self, self.how.method)
        for rows in parts(len(X), self.rows):
            self.keys = keys[rows]
            found[rows] = method(self.tensor(X[rows])).cpu().numpy()
        return found

    def tensor(self, X: NDArray[Any]) -> Any:
        rows = np.ascontiguousarray(X)
        return torch.from_numpy(rows if rows.flags.writeable else rows.copy()).to(device=self.device, dtype=self.dtype)

    def outputs(self, x: Any) -> Any:
        """Outputs that can be explained, one column per class."""
        raw = self._call(x.clone() if self.writes else x)
        if raw.numel() % len(x) or not raw.numel():
            what = f"the network gives outputs of shape {tuple(raw.shape)} for {len(x)} records"
            raise InputError(f"{what}: return one row for each")
        return self.view.head(raw.reshape(len(x), -1), self.how)

    def _call(self, x: Any) -> Any:
        try:
            answer = self.view.module(x) if self.scripted else functional_call(self.view.module, self.state, (x,))
            return tensor_of(answer, "the network")
        except InputError:
            raise
        except Exception as error:
            what = f"the network fails on records of shape {tuple(x.shape[1:])} ({describe(error)})"
            how = "pass records of the shape that it expects"
            if any(isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag) for part in self.view.module.modules()):
                what = "the network starts with an Embedding, and whole numbers have no gradients"
                how = "explain the part of the network after it"
            raise InputError(f"{what}: {how}") from cause(error)

    def slope(self, x: Any, code: Any = None) -> Any:
        """Derivative of the explained output of a class, which is the predicted one if not given."""
        x = x.detach().requires_grad_()
        shown = self.outputs(x)
        return self._derivative(shown.gather(1, predicted(shown) if code is None else code), x)

    def _derivative(self, own: Any, x: Any) -> Any:
        try:
            found = torch.autograd.grad(own.sum(), x, allow_unused=True)[0] if own.requires_grad else None
        except RuntimeError as error:
            raise InputError(f"the network can't be differentiated: {describe(error)}") from cause(error)
        if found is None:
            what = "the network's output has no derivative by the records"
            raise InputError(f"{what}: look for detach, rounding or comparisons in it")
        return found

    # --- methods --------------------------------------------------------------------------------------------------------

    def gradient(self, x: Any) -> Any:
        return self.slope(x)

    def gradient_x_input(self, x: Any) -> Any:
        return self.slope(x).mul_(x)

    def smoothgrad(self, x: Any) -> Any:
        samples, total = self.how.samples, torch.zeros_like(x)
        with torch.no_grad():
            code = predicted(self.outputs(x))
        for rows in parts(len(x), max(1, self.rows // samples)):
            seeds = mixed(self.keys[rows], self.how.seed).tolist()
            generators = [torch.Generator().manual_seed(seed) for seed in seeds]
            for draws in parts(samples, self.rows):
                moved = self._noise(generators, draws.stop - draws.start, x).add_(x[rows, None])
                many = code[rows].repeat_interleave(moved.shape[1], dim=0)
                total[rows] += self.slope(moved.flatten(0, 1), many).reshape(moved.shape).sum(dim=1)
        return total.div_(samples)

    def _noise(self, generators: list[Any], draws: int, x: Any) -> Any:
        """A number of draws for each record, by its own generator."""
        drawn = torch.empty(len(generators), draws, *x.shape[1:], dtype=self.dtype)
        for row, generator in zip(drawn, generators, strict=True):
            row.normal_(0.0, self.how.sigma, generator=generator)
        return drawn.to(self.device)

    def integrated_gradients(self, x: Any) -> Any:
        with torch.no_grad():
            at_end, at_start = self.outputs(x), self.outputs(self.baseline)
        code = predicted(at_end)
        ends = at_end.gather(1, code)[:, 0], at_start[0, code[:, 0]]
        found = self._path(x, code, torch.tensor([[0.0, 1.0]]).to(x).expand(len(x), 2))
        missed, scale = incompleteness(found, *ends)
        for rows in (missed > INCOMPLETE).nonzero()[:, 0].split(max(1, self.rows // self.how.steps)):
            found[rows] = self._refine(x[rows], code[rows], scale[rows])
        return found

    def _refine(self, x: Any, code: Any, scale: Any) -> Any:
        """Integrate piece by piece, and halve the pieces that do not add up to the change of the output.

        Points then concentrate where the slope jumps, as it does in a network with ReLU.
        """
        found, rows = torch.zeros_like(x), torch.arange(len(x), device=x.device)
        ends = torch.tensor([[0.0, 1.0]]).to(x).expand(len(x), 2)
        for _ in range(HALVINGS):
            low, high = ends.T
            middle = (low + high) / 2
            rows, ends = rows.repeat(2), torch.stack([torch.cat([low, middle]), torch.cat([middle, high])], dim=1)
            part = self._path(x[rows], code[rows], ends)
            missed = (part.flatten(1).sum(dim=1) - self._gain(x[rows], code[rows], ends)).abs() / scale[rows]
            good = missed <= INCOMPLETE / 10  # a record may have several pieces that miss something
            found.index_add_(0, rows[good], part[good])
            rows, ends, missed = rows[~good], ends[~good], missed[~good]
            if not len(rows):
                return found
            if len(rows) > MOST_PIECES * len(x):
                break
        raise InputError(
            f"integrated gradients miss the change of the output by {float(missed.max()):.2g} of the larger output for some records, with any "
            "number of steps: the output jumps along the path or is rounded too coarsely, so use gradient, another baseline, "
            "or the network in float64 (its double())"
        )

    def _path(self, x: Any, code: Any, ends: Any) -> Any:
        """The integral from one point of each record's path to another, in shares of the path."""
        steps = self.how.steps
        nodes, weights = (torch.from_numpy(part).to(x) for part in quadrature(steps))
        direction, shape = x - self.baseline, (-1, *[1] * (x.ndim - 1))
        total = torch.zeros_like(x)
        for rows in parts(len(x), max(1, self.rows // len(nodes))):
            low, high = ends[rows].T
            for points in parts(len(nodes), self.rows):
                share = (low + nodes[points, None] * (high - low)).reshape(-1, *low.shape, *shape[1:])
                moved = self.baseline + share * direction[rows]
                slope = self.slope(moved.flatten(0, 1), code[rows].repeat(len(moved), 1))
                total[rows] += torch.mv(slope.reshape(len(moved), -1).T, weights[points]).reshape(x[rows].shape)
        return total.mul_(direction).mul_((ends[:, 1] - ends[:, 0]).reshape(shape))

    def _gain(self, x: Any, code: Any, ends: Any) -> Any:
        """Change of the explained output from one point of each record's path to another."""
        found = torch.empty_like(ends)
        with torch.no_grad():
            for rows in parts(len(x), self.rows):
                for end in (0, 1):
                    share = ends[rows, end].reshape(-1, *[1] * (x.ndim - 1))
                    shown = self.outputs(self.baseline + share * (x[rows] - self.baseline))
                    found[rows, end] = shown.gather(1, code[rows])[:, 0]
        return found[:, 1] - found[:, 0]

    def lrp(self, x: Any) -> Any:
        x = x.detach().requires_grad_()
        with EpsilonRule(x, self.how.epsilon):
            shown = self.outputs(x)
        own = shown.gather(1, predicted(shown))
        z = own.detach()
        return self._derivative(own * (z / stabilised(z, self.how.epsilon)), x).mul_(x.detach())

    def deeplift(self, x: Any) -> Any:
        x = x.detach().requires_grad_()
        at_start, reference = self.at_baseline
        with RescaleRule(x, reference):
            shown = self.outputs(x)
        code = predicted(shown)
        own = shown.gather(1, code)
        found = self._derivative(own, x).mul_(x.detach() - self.baseline if self.how.baseline else x.detach())
        missed = float(incompleteness(found, own.detach()[:, 0], at_start[0, code[:, 0]])[0].max())
        if missed > INCOMPLETE:
            raise InputError(
                f"deeplift misses the change of the output by {missed:.2g} of the larger output: the rescale rule does not apply "
                "to this network, so use gradient, integrated_gradients or smoothgrad"
            )
        return found

    @cached_property
    def at_baseline(self) -> tuple[Any, Reference]:
        """Outputs and intermediate values of DeepLIFT at the baseline."""
        baseline = self.baseline.detach().requires_grad_()
        with RescaleRule(baseline) as rules:
            shown = self.outputs(baseline)
        return shown.detach(), rules.noted


def predicted(shown: Any) -> Any:
    """Return the class of the largest output of each record, as a column."""
    return shown.detach().argmax(dim=1, keepdim=True)


def incompleteness(found: Any, at_end: Any, at_start: Any) -> tuple[Any, Any]:
    """Return the relative error of the sum of each explanation against the change of the output, and its scale.

    The scale is the largest of both outputs and of the sum of absolute values of the explanation, which bounds rounding.
    """
    flat, scale = found.flatten(1), torch.maximum(at_end.abs(), at_start.abs())
    missed = (flat.sum(dim=1) - (at_end - at_start)).abs()
    if len(rows := (missed > INCOMPLETE * scale).nonzero()[:, 0]):
        scale[rows] = torch.maximum(scale[rows], flat[rows].abs().sum(dim=1))
    scale = torch.where(scale == 0, 1.0, scale)
    return missed / scale, scale


def parts(count: int, size: int) -> Iterator[slice]:
    """Split a number of items into parts of limited size.

    Examples
    --------
    >>> list(parts(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
