r"""LRP and DeepLIFT as back-propagation in which every activation has another slope.

For an activation :math:`a = f(z)` let :math:`m(z)` stand in the place of :math:`f'(z)` in the chain rule, everything else
being linear. Then

* the ε-rule of LRP, :math:`r_i = \sum_j \frac{a_i w_{ij}}{z_j + \varepsilon\,\mathrm{sign}(z_j)} r_j` with
  :math:`z_j = \sum_i a_i w_{ij} + b_j`, is :math:`x_i` times that derivative, with
  :math:`m(z) = f(z)/(z + \varepsilon\,\mathrm{sign}(z))`, sign(0) = 1, and the same factor at the output;
* the rescale rule of DeepLIFT is :math:`x_i - \bar x_i` times it, with
  :math:`m = (f(z) - f(\bar z))/(z - \bar z)`, and :math:`f'(z)` where the two are equal

[shokri2019, appendix C; Ancona et al. 2018, Propositions 1 and 2]. Of a maximum, LRP follows the winner; DeepLIFT gives the
difference of two maxima to the winner at the record as far as it lies above that at the baseline, and otherwise to the
winner at the baseline.

Every torch function that a network calls is seen here, whether it stands in a module or in plain code. One that is neither
linear nor an activation is refused by name.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from leakscope.errors import InputError


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Functions of one number with f(0) = 0, for which the ε-rule is stable.
THROUGH_ZERO = _names(
    "celu elu gelu hardshrink hardswish hardtanh leaky_relu mish relu relu6 selu silu softshrink softsign tanh "
    "tanhshrink"
)
ACTIVATIONS = THROUGH_ZERO | _names("hardsigmoid logsigmoid log_sigmoid sigmoid softplus")
MAXIMA = _names("max_pool1d max_pool2d max_pool3d")
#: Linear functions, in evaluation mode; names of Python's operators and of in-place forms without their underscores.
LINEAR = _names(
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d add alpha_dropout avg_pool1d avg_pool2d avg_pool3d "
    "batch_norm cat chunk clone concat contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d dropout dropout1d dropout2d dropout3d expand feature_alpha_dropout flatten flip float get getitem "
    "iadd index_select isub linear mean movedim narrow neg negative pad permute pixel_shuffle radd reshape roll rsub "
    "select split squeeze stack sub subtract sum swapaxes t to transpose type_as unflatten unsqueeze view view_as"
)
#: Linear as long as one factor does not depend on the record.
PRODUCTS = _names("addmm baddbmm bmm einsum imul matmul mm mul multiply rmatmul rmul")
QUOTIENTS = _names("div divide itruediv true_divide truediv")
#: What says something about a tensor and gives no tensor that depends on it.
QUESTIONS = _names("detach dim dtype is_floating_point len numel requires_grad shape size")
SMALLEST_DIFFERENCE = 1e-6


class _Slope(torch.autograd.Function):  # type: ignore[misc]
    """A value with a slope of our choice."""

    @staticmethod
    def forward(ctx: Any, z: Any, value: Any, slope: Any) -> Any:  # noqa: ARG004
        ctx.save_for_backward(slope)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        return incoming * ctx.saved_tensors[0], None, None


class _Maximum(torch.autograd.Function):  # type: ignore[misc]
    """Maxima of windows, whose gradient goes to given places of the input, times given shares."""

    @staticmethod
    def forward(ctx: Any, z: Any, value: Any, places: Any, shares: Any) -> Any:
        ctx.save_for_backward(places, shares)
        ctx.shape = z.shape
        return value.clone()

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        places, shares = ctx.saved_tensors
        rows = len(incoming)
        passed = incoming.new_zeros(ctx.shape).reshape(*ctx.shape[:2], -1)
        for place, share in zip(places, shares, strict=True):
            window = place.reshape(rows, ctx.shape[1], -1)
            passed.scatter_add_(2, window, (incoming * share).reshape(window.shape))
        return passed.reshape(ctx.shape), None, None, None


class Rules(TorchFunctionMode):  # type: ignore[misc]
    """While active, activations have the slopes of LRP, or those of DeepLIFT.

    For DeepLIFT the last row of the batch is the baseline.

    Parameters
    ----------
    epsilon
        The stabiliser of LRP; None for DeepLIFT.
    """

    def __init__(self, epsilon: float | None) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.method = "deeplift" if epsilon is None else "lrp"

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func)).strip("_")
        depends = [part for part in _tensors([*args, *kwargs.values()]) if part.requires_grad]
        if not depends or self._is_linear(name, args, depends):
            return func(*args, **kwargs)
        if name in MAXIMA:
            return self._maximum(name, args, kwargs)
        if name not in (ACTIVATIONS if self.epsilon is None else THROUGH_ZERO):
            raise InputError(
                f"{self.method} has no rule for {name}, which the network uses: take gradient, integrated_gradients or "
                "smoothgrad, which work for any differentiable model"
            )
        z = args[0]
        value = func(z.detach().clone(), *args[1:], **kwargs)
        return _Slope.apply(z, value, self._slope(func, z.detach(), value, args, kwargs))

    def _is_linear(self, name: str, args: Any, depends: list[Any]) -> bool:
        if name in LINEAR | QUESTIONS or (name in PRODUCTS and len(depends) == 1):
            return True
        return name in QUOTIENTS and len(depends) == 1 and args[0] is depends[0]

    def _slope(self, func: Any, z: Any, value: Any, args: Any, kwargs: Any) -> Any:
        if self.epsilon is not None:
            return value / stabilised(z, self.epsilon)
        difference = z - z[-1:]
        small = difference.abs() < SMALLEST_DIFFERENCE
        slope = (value - value[-1:]) / torch.where(small, 1.0, difference)
        with torch.enable_grad():
            at = z[small].requires_grad_()
            slope[small] = torch.autograd.grad(func(at.clone(), *args[1:], **kwargs).sum(), at)[0]
        return slope

    def _maximum(self, name: str, args: Any, kwargs: Any) -> Any:
        z, settings = args[0], {key: value for key, value in kwargs.items() if key != "return_indices"}
        with_places = getattr(torch.nn.functional, f"{name}_with_indices")
        value, place = with_places(z.detach(), *args[1:], **settings)
        if self.epsilon is not None:
            return _Maximum.apply(z, value, place[None], torch.ones_like(value)[None])
        difference = (z - z[-1:]).detach().reshape(*z.shape[:2], -1)
        change = value - value[-1:]
        places = torch.stack([place, place[-1:].expand_as(place)])
        shares = []
        for gain, where in zip((change.clamp_min(0), change.clamp_max(0)), places, strict=True):
            at = difference.gather(2, where.reshape(*z.shape[:2], -1)).reshape(gain.shape)
            shares.append(gain / torch.where(gain == 0, 1.0, at))
        return _Maximum.apply(z, value, places, torch.stack(shares))


def stabilised(z: Any, epsilon: float) -> Any:
    """z, moved away from zero by ε."""
    return z + torch.where(z < 0, -epsilon, epsilon)


def _tensors(values: Any) -> list[Any]:
    """All tensors among the arguments, also those in lists."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found
