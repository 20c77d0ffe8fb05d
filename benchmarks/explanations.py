"""Feature explanations against the bare forward and backward passes that they need, on one thread.

The bare passes are a loop over batches of our size that does nothing else: parameters need no gradient, the class is known
where it must be, noise is drawn as we draw it. What LRP and DeepLIFT do at the activations is not in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
import torch

from benchmarks.measure import Line, ratio, seconds
from leakscope.core.threads import one_thread
from leakscope.data.fingerprints import row_hashes
from leakscope.releases.feature_explanations import METHODS, FeatureExplanation, explain
from leakscope.releases.feature_explanations.linear import quadrature
from leakscope.releases.feature_explanations.network import NetworkView, _MethodRun, parts
from leakscope.releases.feature_explanations.noise import mixed

#: Widths, and records of the methods of one pass and of those of fifty.
NETWORKS = {"600-1024-512-256-100": (10_000, 200), "104-50-50-2": (10_000, 2_000)}
GOAL = 1.5


def network(name: str) -> Any:
    torch.manual_seed(0)
    layers = [(torch.nn.Linear(*pair), torch.nn.Tanh()) for pair in pairwise(map(int, name.split("-")))]
    return torch.nn.Sequential(*list(chain.from_iterable(layers))[:-1]).requires_grad_(False)


def passes(module: Any, x: Any, code: Any = None, *, logit: bool = False) -> Any:
    """Run one forward and one backward pass."""
    x = x.detach().requires_grad_()
    shown = module(x) if logit else module(x).softmax(dim=1)
    own = shown.gather(1, shown.detach().argmax(dim=1, keepdim=True) if code is None else code)
    return torch.autograd.grad(own.sum(), x)[0]


def bare(module: Any, X: np.ndarray, how: FeatureExplanation, rows: int) -> np.ndarray:
    """Run the passes that the method needs."""
    found = np.empty_like(X)
    many = {"integrated_gradients": how.steps, "smoothgrad": how.samples}.get(how.method, 1)
    for part in parts(len(X), max(1, rows // many)):
        x = torch.from_numpy(X[part])
        if many == 1:
            slope = passes(module, x, logit=how.explains == "logit")
            found[part] = slope if how.method == "gradient" else slope.mul_(x)
            continue
        code = module(x).argmax(dim=1, keepdim=True)
        if how.method == "smoothgrad":
            moved, weights = noisy(x, how), torch.full((many,), 1 / many)
        else:
            nodes, weights = (torch.from_numpy(array).float() for array in quadrature(many))
            moved = nodes[:, None] * x[:, None]
        slope = passes(module, moved.reshape(-1, X.shape[1]), code.repeat_interleave(many, dim=0))
        mean = torch.einsum("nsd,s->nd", slope.reshape(moved.shape), weights)
        found[part] = mean if how.method == "smoothgrad" else mean.mul_(x)
    return found


def noisy(x: Any, how: FeatureExplanation) -> Any:
    moved = torch.empty(len(x), how.samples, x.shape[1])
    generator = torch.Generator()
    for row, seed in zip(moved, mixed(row_hashes(x.numpy()), how.seed).tolist(), strict=True):
        row.normal_(0.0, how.sigma, generator=generator.manual_seed(seed))
    return moved.add_(x[:, None])


def captum(module: Any, X: np.ndarray, how: FeatureExplanation, rows: int) -> Callable[[], Any]:
    """The same by captum, in batches of our size."""
    from captum import attr

    shown = torch.nn.Sequential(*module, torch.nn.Softmax(dim=1))
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "gradient": lambda x, code: attr.Saliency(shown).attribute(x, target=code, abs=False),
        "gradient_x_input": lambda x, code: attr.InputXGradient(shown).attribute(x, target=code),
        "integrated_gradients": lambda x, code: attr.IntegratedGradients(shown).attribute(x, target=code, n_steps=50),
        "smoothgrad": lambda x, code: attr.NoiseTunnel(attr.Saliency(shown)).attribute(
            x, nt_samples=50, stdevs=0.2, target=code, abs=False
        ),
        "lrp": lambda x, code: attr.LRP(module).attribute(x, target=code),
        "deeplift": lambda x, code: attr.DeepLift(module).attribute(x, target=code),
    }
    many = 50 if how.method in ("integrated_gradients", "smoothgrad") else 1

    def work() -> None:
        for part in parts(len(X), max(1, rows // many)):
            x = torch.from_numpy(X[part]).clone()
            ways[how.method](x.requires_grad_(), module(x).argmax(dim=1))

    return work


def run() -> Iterator[Line]:
    for name, (one, fifty) in NETWORKS.items():
        module = network(name)
        for method in METHODS:
            how = FeatureExplanation(method)
            count = fifty if method in ("integrated_gradients", "smoothgrad") else one
            X = np.random.default_rng(0).random((count, module[0].in_features), dtype=np.float32)
            rows = _MethodRun(NetworkView(module, "logits"), how, X[:1]).rows
            ours = partial(explain, module, X, how, outputs="logits")
            with one_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # captum says that it sets hooks
                ours(), bare(module, X, how, rows)
                measured, detail = ratio(ours, partial(bare, module, X, how, rows), rounds=7)
                theirs = seconds(captum(module, X, how, rows))
            what = f"{method} of {count:,} records on {name}, over the bare passes"
            yield Line(what, measured, GOAL, detail=f"{detail[:-1]}; captum {theirs:.3f} s]")
