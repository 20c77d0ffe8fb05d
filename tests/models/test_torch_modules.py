"""Torch modules as researchers have them: outputs with logits, Opacus, modes, types of parameters, exported programs."""

from types import SimpleNamespace

import numpy as np
import pytest

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.models.adapters import TorchCall, first_parameter, without_sample_gradients
from leakscope.models.files import load_model
from leakscope.models.provenance import model_fingerprint
from leakscope.releases.feature_explanations.compute import explain

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)).astype(np.float32)
y = (X[:, 0] > 0).astype(int)
SETS = (X[:30], y[:30]), (X[30:], y[30:])


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(), torch.nn.Linear(8, 2))


class Named(torch.nn.Module):
    """A module that answers as those of Hugging Face."""

    def __init__(self, field="logits"):
        super().__init__()
        self.inner, self.field = network(), field

    def forward(self, records):
        return SimpleNamespace(**{self.field: self.inner(records)}, hidden=None)


def test_outputs_with_logits_are_those_logits():
    named, plain = (ls.audit(model, *SETS, retrain=False) for model in (Named(), network()))
    assert named.risks == plain.risks
    assert np.array_equal(explain(Named(), X, "gradient"), explain(network(), X, "gradient"))


def test_other_outputs_are_refused():
    with pytest.raises(InputError, match="SimpleNamespace"):
        ls.audit(Named("scores"), *SETS, retrain=False)
    with pytest.raises(InputError, match="SimpleNamespace"):
        explain(Named("scores"), X, "gradient", outputs="logits")


def wrapped(backward=True):
    """A network of Opacus in training, with gradients by record or with outputs that wait for them."""
    opacus = pytest.importorskip("opacus")
    module = opacus.GradSampleModule(network())
    loss = torch.nn.functional.cross_entropy(module(torch.tensor(X)), torch.tensor(y))
    if backward:
        loss.backward()
    return module


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.filterwarnings("ignore:Full backward hook", "ignore:Using a non-full backward hook")
def test_a_module_of_opacus_is_the_network_in_it(backward):
    module = wrapped(backward)
    private = ls.audit(module, *SETS, releases=["probabilities", "gradient"], retrain=False)
    plain = ls.audit(network(), *SETS, releases=["probabilities", "gradient"], retrain=False)
    assert private.risks == plain.risks
    assert private.target.model == "Sequential"
    assert private.fingerprints["model parameters"] != "none"
    parts = [part for part in module.modules() if hasattr(part, "_forward_hooks") and part._forward_hooks]
    assert parts  # the module of the user trains on as before
    assert all(part.training for part in module.modules())
    assert [parameter.grad_sample is not None for parameter in module.parameters()] == [backward] * 4


def test_other_modules_are_not_copied():
    module = network()
    assert without_sample_gradients(module) is module


def test_the_mode_of_every_part_is_restored_also_after_an_error():
    module = network().train()
    module[0].eval()
    modes = [part.training for part in module.modules()]
    assert np.array_equal(TorchCall(module)(X), TorchCall(module)(X))
    assert [part.training for part in module.modules()] == modes
    with pytest.raises(RuntimeError):
        TorchCall(module)(X[:, :2])
    assert [part.training for part in module.modules()] == modes


class Buffered(torch.nn.Module):
    """A module without parameters, with a count and with numbers of double precision."""

    def __init__(self, device=None):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64, device=device))
        self.register_buffer("weights", torch.ones(4, 2, dtype=torch.float64, device=device))

    def forward(self, records):
        return records @ self.weights


def test_records_have_the_type_and_the_device_of_the_network():
    assert TorchCall(Buffered())(X).dtype == np.float64
    assert TorchCall(network().double())(X).dtype == np.float64
    assert first_parameter(Buffered("meta")).device.type == "meta"
    assert first_parameter(network().to("meta")).device.type == "meta"


def exported():
    batch = torch.export.Dim("records")
    return torch.export.export(network().eval(), (torch.zeros(2, 4),), dynamic_shapes=({0: batch},))


def test_an_exported_program_is_audited_as_a_module_and_not_opened_as_a_file(tmp_path):
    torch.export.save(exported(), tmp_path / "model.pt2")
    module = torch.export.load(tmp_path / "model.pt2").module()
    assert TorchCall(module)(X) == pytest.approx(TorchCall(network())(X), abs=1e-6)
    with pytest.raises(InputError, match=r"model\.pt2.*model\.py:load"):
        load_model(tmp_path / "model.pt2")


def test_the_digest_of_a_network_depends_on_what_it_learned():
    prints = [model_fingerprint(module)["model parameters"] for module in (network(), network(), network().double())]
    assert prints[0] == prints[1] != prints[2]
    module = network()
    TorchCall(module)(X)
    assert model_fingerprint(module)["model parameters"] == prints[0]
