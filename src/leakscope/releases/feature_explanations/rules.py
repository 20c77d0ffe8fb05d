r"""LRP and DeepLIFT as back-propagation with modified slopes of the activations.

For an activation :math:`a = f(z)` let :math:`m(z)` replace :math:`f'(z)` in the chain rule, with everything else linear.
Then

* the ε-rule of LRP, :math:`r_i = \sum_j \frac{a_i w_{ij}}{z_j + \varepsilon\,\mathrm{sign}(z_j)} r_j` with
  :math:`z_j = \sum_i a_i w_{ij} + b_j`, is :math:`x_i` times that derivative, with
  :math:`m(z) = f(z)/(z + \varepsilon\,\mathrm{sign}(z))`, sign(0) = 1, and the same factor at the output;
* the rescale rule of DeepLIFT is :math:`x_i - \bar x_i` times it, with
  :math:`m = (f(z) - f(\bar z))/(z - \bar z)`, and :math:`f'(z)` where the two are equal

[shokri2019, appendix C; Ancona et al. 2018, Propositions 1 and 2]. As printed there, the ε-rule counts the bias once
for every neuron that feeds into j; here it is added once.

At a maximum, LRP follows the largest input. DeepLIFT assigns the difference of two maxima to the largest input at the
record as far as it exceeds that at the baseline, and otherwise to the largest input at the baseline. Both shares are in
[0, 1].

Every torch function that a network calls is intercepted, in modules and in plain code. A function that is neither linear
nor an activation raises an error with its name; so does a tensor from code that can't be intercepted.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

from leakscope.core.errors import InputError


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
    "batch_norm broadcast_to cat chunk clone concat contiguous conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d cumsum dropout dropout1d dropout2d dropout3d expand expand_as feature_alpha_dropout flatten flip "
    "float get getitem iadd index_select isub linear mean movedim narrow neg negative pad permute pixel_shuffle radd "
    "repeat repeat_interleave reshape roll rsub select split squeeze stack sub subtract sum swapaxes t tile to "
    "transpose type_as unbind unflatten unsqueeze view view_as"
)
#: Linear as long as one factor does not depend on the record.
PRODUCTS = _names("addmm baddbmm bmm einsum imul matmul mm mul multiply rmatmul rmul")
QUOTIENTS = _names("div divide itruediv true_divide truediv")
#: Functions that return properties of a tensor, and no tensor that depends on it.
QUESTIONS = _names("detach dim dtype is_floating_point len numel requires_grad shape size")
SMALLEST_DIFFERENCE = 1e-6


class _Slope(torch.autograd.Function):  # type: ignore[misc]
    """The value of an activation, with a given slope."""

    @staticmethod
    def forward(ctx: Any, z: Any, call: Any, rule: Any) -> Any:
        value = call(z)
        ctx.save_for_backward(rule(z, value, call))
        return value

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        return incoming * ctx.saved_tensors[0], None, None


class _Maximum(torch.autograd.Function):  # type: ignore[misc]
    """Maxima over windows in the last axes, whose gradient goes to given positions, times given shares."""

    @staticmethod
    def forward(ctx: Any, z: Any, call: Any, rule: Any, axes: int) -> Any:
        value, place = call(z)
        ctx.shares = rule(*(part.flatten(-axes) for part in (z, value, place)))
        ctx.shape, ctx.axes = z.shape, axes
        return value

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:
        passed = incoming.new_zeros(ctx.shape).flatten(-ctx.axes)
        for place, share in ctx.shares:
            passed.scatter_add_(-1, place, incoming.flatten(-ctx.axes) * share)
        return passed.reshape(ctx.shape), None, None, None


class Rules(TorchFunctionMode):  # type: ignore[misc]
    """While active, activations have the slopes of a method; ``record`` is the input tensor of the network."""

    method: str
    activations: frozenset[str]

    def __init__(self, record: Any) -> None:
        super().__init__()
        self.record = record
        self.made: set[Any] = set()  # grad_fn of every tensor that an intercepted function returned

    def slope(self, z: Any, value: Any, call: Any) -> Any:
        """Return the replacement of the derivative of an activation at z."""
        raise NotImplementedError

    def shares(self, z: Any, value: Any, place: Any) -> list[tuple[Any, Any]]:
        """Return the positions in z to which the gradient of a maximum goes, and their shares."""
        raise NotImplementedError

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        depends = [part for part in _tensors([*args, *kwargs.values()]) if part.requires_grad]
        for part in depends:
            if part is not self.record and part.grad_fn not in self.made:
                self._refuse(f"can't see into {type(part.grad_fn).__name__}, which a part of the network")
        plain = name.strip("_")
        if not depends or _is_linear(plain, args, kwargs, depends):
            found = func(*args, **kwargs)
        elif plain in MAXIMA:
            found = self._maximum(plain, args, kwargs)
        elif plain in self.activations:
            found = self._activation(func, name, args, kwargs)
        else:
            self._refuse(f"has no rule for {plain}, which the network")
        self.made.update(part.grad_fn for part in _tensors([found]) if part.requires_grad)
        return found

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(
            f"{self.method} {what} uses: use gradient, integrated_gradients or smoothgrad, which work for any "
            "differentiable model"
        )

    def _activation(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        z, *others = args if args else [kwargs.pop("input")]
        in_place = kwargs.pop("inplace", False) or (name.endswith("_") and not name.endswith("__"))

        def call(at: Any) -> Any:
            return func(at.clone() if in_place else at, *others, **kwargs)

        found = _Slope.apply(z, call, self.slope)
        return z.copy_(found) if in_place else found

    def _maximum(self, name: str, args: Any, kwargs: Any) -> Any:
        z, *others = args if args else [kwargs.pop("input")]
        kwargs.pop("return_indices", None)
        with_places = getattr(torch.nn.functional, f"{name}_with_indices")
        return _Maximum.apply(z, lambda at: with_places(at, *others, **kwargs), self.shares, int(name[-2]))


class EpsilonRule(Rules):
    """LRP by the ε-rule."""

    method, activations = "lrp", THROUGH_ZERO

    def __init__(self, record: Any, epsilon: float) -> None:
        super().__init__(record)
        self.epsilon = epsilon

    def slope(self, z: Any, value: Any, call: Any) -> Any:  # noqa: ARG002
        below = stabilised(z, self.epsilon)
        return torch.div(value, below, out=below)

    def shares(self, z: Any, value: Any, place: Any) -> list[tuple[Any, Any]]:  # noqa: ARG002
        return [(place, torch.ones_like(value))]


#: Inputs, outputs and places of the activations and maxima of a network at the baseline, in the order of their calls.
Reference = list[tuple[Any, Any, Any]]


class RescaleRule(Rules):
    """DeepLIFT by the rescale rule; ``reference`` holds the values at the baseline, None while they are computed."""

    method, activations = "deeplift", ACTIVATIONS

    def __init__(self, record: Any, reference: Reference | None = None) -> None:
        super().__init__(record)
        self.noted: Reference = []
        self.steps = None if reference is None else iter(reference)

    def slope(self, z: Any, value: Any, call: Any) -> Any:
        if self.steps is None:
            self._note(z, value, None)
            return torch.zeros_like(z)
        z_reference, value_reference, _ = self._next(z)
        difference = z - z_reference
        slope = (value - value_reference).div_(difference)
        if difference.abs_().numel() and float(difference.amin()) < SMALLEST_DIFFERENCE:
            small = (difference < SMALLEST_DIFFERENCE).nonzero(as_tuple=True)
            with torch.enable_grad():
                at = z.detach()[small].requires_grad_()
                slope[small] = torch.autograd.grad(call(at).sum(), at)[0]
        return slope

    def shares(self, z: Any, value: Any, place: Any) -> list[tuple[Any, Any]]:
        if self.steps is None:
            self._note(z, value, place)
            return [(place, torch.zeros_like(value))]
        z_reference, value_reference, place_reference = self._next(z)
        difference, change = z - z_reference, value - value_reference
        places = (place, place_reference.expand_as(place))
        at, at_reference = (difference.gather(-1, where) for where in places)
        up, down = change.clamp_min(0), change.clamp_max(0)
        share = up / torch.where(up == 0, 1.0, at)
        share[(change == 0) & (at == 0)] = 1.0  # the same position with the same value: the derivative
        return [(places[0], share), (places[1], down / torch.where(down == 0, 1.0, at_reference))]

    def _note(self, z: Any, value: Any, place: Any) -> None:
        self.noted.append((z.detach().clone(), value.clone(), place))  # the network may modify z later

    def _next(self, z: Any) -> tuple[Any, ...]:
        """The stored values of this call, shaped so that they match the neurons of every record."""
        assert self.steps is not None
        noted = next(self.steps, (z.new_empty(0, 0),))
        if len(noted) == 3 and noted[0].ndim == z.ndim:
            if all(size in (1, own) for size, own in zip(noted[0].shape, z.shape, strict=True)):
                return noted
            repeats = len(z) // max(1, len(noted[0]))  # several rows for each record
            if noted[0].shape[1:] == z.shape[1:] and repeats * len(noted[0]) == len(z):
                return tuple(part if part is None else part.repeat(repeats, *[1] * (part.ndim - 1)) for part in noted)
        raise InputError(
            "the network calls other functions at the baseline than at the records, which deeplift does not support: use gradient, "
            "integrated_gradients or smoothgrad"
        )


def stabilised(z: Any, epsilon: float) -> Any:
    """Return z moved away from zero by ε."""
    return torch.copysign(z.new_tensor(epsilon), z).add_(z)


def _is_linear(name: str, args: Any, kwargs: Any, depends: list[Any]) -> bool:
    if name in LINEAR:
        return not kwargs.get("training", False)  # noise, or statistics of the batch
    if name in QUESTIONS or (name in PRODUCTS and len(depends) == 1):
        return True
    return name in QUOTIENTS and len(depends) == 1 and args[0] is depends[0]


def _tensors(values: Any) -> list[Any]:
    """All tensors among the arguments, also those in lists."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found
