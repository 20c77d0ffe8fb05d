"""What a measurement of leakage leaves: plain data, and a few lines of text."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leakscope.bounds import success_from_advantage
from leakscope.core.estimate import Estimate
from leakscope.results import Study

NATS_PER_BIT = math.log(2)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Renyi:
    """Rényi divergence of one order between the two laws of a record, over the records.

    ``direction``: ``with‖without`` bounds how strongly a model can speak *for* membership, ``without‖with`` how strongly
    against it. ``median`` is None where half of the records or more have an infinite one, and ``infinite`` is their share.
    """

    order: float
    direction: str
    median: Estimate | None
    infinite: Estimate


@dataclass(frozen=True, eq=False)
class Leakage:
    """How much the models of one learner, trained on sets of one size, tell about the membership of a record.

    Parameters
    ----------
    rho_kl
        Mean over records of the symmetric divergence, in nats; the interval covers the draws and the choice of records.
    rho_kl_median, rho_kl_quantiles, rho_kl_worst
        The median, other quantiles, and the largest of the records measured, whose interval pays for the choice.
    rho_mi, rho_mi_ceiling
        Mutual information with the record's membership, in nats, and what Corollary 1 allows it at most.
    advantage_bound
        What no adversary's advantage exceeds as long as both laws are Gaussian [Theorem 1, corrected].
    attack
        Advantage that an adversary achieves who knows the two Gaussians from other draws, on draws it has not seen. It
        needs no assumption: a lower bound on what the best adversary can do.
    rho_neighbours
        ``rho_kl`` with what nearest neighbours find beyond the Gaussians, in twenty records; None with too few draws.
    control
        The same estimate where there is nothing to find: training sets against the same sets with one record, not a given
        one, replaced. None where it can't be measured, and a warning says why.
    ill_conditioned
        Share of draws with a parameter more than eight robust deviations away from its median.
    renyi
        Worst cases beyond the mean: see `Renyi`.
    per_record
        One row per measured record: ``record`` (position), ``id``, ``kl`` with ``kl_low`` and ``kl_high``, ``mi``,
        ``advantage_bound``, ``attack``, ``renyi_2``, ``renyi_inf`` (with‖without) and ``finite_up_to``, the order at which
        the Rényi divergence becomes infinite in one direction or the other.
    """

    rho_kl: Estimate
    rho_kl_median: Estimate
    rho_kl_quantiles: dict[float, Estimate]
    rho_kl_worst: Estimate
    rho_mi: Estimate
    rho_mi_ceiling: Estimate
    advantage_bound: Estimate
    attack: Estimate
    rho_neighbours: Estimate | None
    control: Estimate | None
    ill_conditioned: Estimate
    renyi: tuple[Renyi, ...]
    warnings: tuple[str, ...]
    settings: dict[str, Any]
    per_record: pd.DataFrame

    def __repr__(self) -> str:
        return f"<Leakage of {self.settings['learner']}, size {self.settings['size']}: rho_kl {self.rho_kl}>"

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def study(self) -> Study:
        """What a reader of an audit needs of this: see `Audit.with_studies`."""
        from leakscope.leakage.telling import tell

        return tell(self)


def _lines(leakage: Leakage) -> list[str]:
    settings = leakage.settings
    seen = "parameters" if settings["space"] == "parameters" else "output at the record"
    noise = f", noise {settings['noise']:g}" if settings["noise"] else ""
    bound = leakage.advantage_bound.value
    lines = [
        f"{settings['learner']}, trained on {settings['size']:,} of {settings['universe']:,} records{noise}; "
        f"what the {seen} tell{'s' if settings['space'] == 'function' else ''} about membership:",
        f"  divergence rho_KL          {leakage.rho_kl}, median record {leakage.rho_kl_median}, "
        f"worst of {settings['records']} {leakage.rho_kl_worst}",
        f"  mutual information rho_MI  {leakage.rho_mi} (at most {leakage.rho_mi_ceiling.value:.2g})",
        f"  advantage of any adversary at most {bound:.3g}, as far as both laws are Gaussian: right at most "
        f"{100 * success_from_advantage(bound):.1f} % of the time at even odds",
        f"  advantage achieved         {leakage.attack}, by likelihood ratio",
    ]
    if leakage.rho_neighbours is not None:
        lines.append(f"  by nearest neighbours      {leakage.rho_neighbours}")
    if leakage.control is not None:
        lines.append(f"  control, nothing to find   {leakage.control}")
    for warning in leakage.warnings:
        lines += textwrap.wrap(f"! {warning}", 100, initial_indent="  ", subsequent_indent="    ")
    return lines
