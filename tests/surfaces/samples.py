"""One small result of every kind, made by its study once in a session.

``word`` is a part of every name that a user can give: of columns, levels, ids, classes and models. A value of one record of each set is marked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leakscope as ls
from leakscope.core.intervals import proportion
from leakscope.core.result import Result
from leakscope.learners import Logistic
from leakscope.papers import panels
from leakscope.papers.reproduction import Reproduction, compare, statement
from leakscope.studies.attributes import attributes
from leakscope.studies.leakage import sweep

#: A value of the record in row `MARKED` of each set.
NUMBER, CITY, MARKED = 0.867530914, "Qzmarkcity", 7
HOSTILE = (
    "<script>window.pwned = 1</script>",
    "\"'><img src=x onerror=window.pwned=1> ' onfocus='window.pwned=1' autofocus='</title></style></svg>",
    "=HYPERLINK(1) [x](http://example.com) @all `$x$` |a| *b*",
    "\u202e\u2066evil\u2069 \u200fשלום\u0007\u2028 \x1b[31m",
    "W" * 500,
)


def people(word: str, seed: int, rows: int = 160) -> tuple[pd.DataFrame, Any, pd.DataFrame, list[str]]:
    """Records, their labels, their groups and their ids."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            f"age{word}": rng.random(rows),
            f"income{word}": rng.random(rows),
            f"city{word}": rng.choice(["bern", "genf"], rows),
            f"sex{word}": rng.choice([f"f{word}", f"m{word}"], rows),
        }
    )
    X.loc[MARKED, f"income{word}"] = NUMBER
    X.loc[MARKED, f"city{word}"] = CITY
    buys = X[f"age{word}"] + rng.normal(0, 0.3, rows) > 0.5
    groups = pd.DataFrame({f"region{word}": rng.choice([f"north{word}", f"south{word}"], rows)})
    return X, np.where(buys, f"yes{word}", f"no{word}"), groups, [f"p{seed}-{at}{word}" for at in range(rows)]


def pipeline(word: str, model: Any) -> Any:
    """A model of columns of both types."""
    numbers, texts = [f"age{word}", f"income{word}"], [f"city{word}", f"sex{word}"]
    return make_pipeline(
        make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), texts)), model
    )


@cache
def audit(word: str = "", depth: int = 12) -> Result:
    """An audit with groups, ids and reference models."""
    (X, y, groups, ids), (Xh, yh, groups_h, _) = people(word, 0), people(word, 1)
    model = pipeline(word, DecisionTreeClassifier(max_depth=depth, random_state=0)).fit(X, y)
    return ls.audit(
        model, (X, y), (Xh, yh), groups=(groups, groups_h), ids=ids, references=4, workers=1,
        command=f"leakscope audit {word}",
    )  # fmt: skip


@cache
def regression() -> Result:
    """An audit of a regression with a stated random split."""
    (X, _, _, _), (Xh, _, _, _) = people("", 3), people("", 4)
    model = DecisionTreeRegressor(max_depth=6, random_state=0)
    numbers = [(side[["age"]], (side["age"] + 0.2 * side["income"]).to_numpy()) for side in (X, Xh)]
    return ls.audit(model.fit(*numbers[0]), *numbers, references=2, random_split=True, workers=1)


@cache
def scores() -> Result:
    """An audit of scores with a stated random split."""
    member = np.arange(400) % 2 == 0
    return ls.audit_scores(np.random.default_rng(0).normal(member), member, random_split=True)


@cache
def comparison(word: str = "") -> Result:
    """A comparison of three defenses."""
    (X, y, _, _), (Xh, yh, _, _) = people(word, 0), people(word, 1)
    model = pipeline(word, LogisticRegression(C=100)).fit(X, y)
    target = ls.make_target(model, (X, y), (Xh, yh))
    return ls.compare(target, defenses=["l2", "round", "label-only"], references=2, workers=1)


@cache
def leakage(word: str = "") -> Result:
    """A sweep over two sizes."""
    X, y, _, _ = people(word, 0)
    labels = (y == y[0]).astype(int)
    return sweep(
        Logistic(l2=1.0), X.iloc[:, :2].to_numpy(), labels, sizes=(40, 80), records=4, draws=60, models=8, workers=1
    )


@cache
def reconstruction(word: str = "") -> Result:
    """A reconstruction with groups and ids."""
    X, y, groups, ids = people(word, 0, 60)
    return ls.reconstruct(X.iloc[:, :2], y, groups=groups, ids=ids, queries=40, runs=1)


@cache
def attributes_of(word: str = "") -> Result:
    """Attribute inference of one column."""
    X, y, _, _ = people(word, 0)
    model = pipeline(word, DecisionTreeClassifier(random_state=0)).fit(X, y)
    return attributes(model, None, (X, y), sensitive=[f"sex{word}"])


@cache
def frontier(word: str = "") -> Result:
    """A frontier of two explanations."""
    (X, y, _, _), (Xh, yh, _, _) = people(word, 0), people(word, 1)
    model = LogisticRegression().fit(X.iloc[:, :2], y)
    return ls.frontier(
        model, (X.iloc[:, :2], y), (Xh.iloc[:, :2], yh), releases=["gradient", "integrated_gradients"], workers=1
    )


@cache
def causal(word: str = "") -> Result:
    """A causal study with the causes given."""
    X, y, _, _ = people(word, 2, 400)
    data = X.drop(columns=[f"income{word}", f"city{word}"]).assign(**{f"buys{word}": y})
    return ls.causal.study(
        data, f"buys{word}", causes=[f"age{word}"], model="logistic", draws=1, noise=False, sensitive=[f"sex{word}"]
    )


@cache
def diff(word: str = "") -> Result:
    """The change between two audits."""
    return ls.diff(audit(word), replace(audit(word, 1), created="2026-01-02T00:00:00+00:00"))


@cache
def reproduction(word: str = "") -> Result:
    """A reproduction with bars, lines and a number of the paper."""
    shares = [proportion(count, 200) for count in (20, 60)]
    places = [f"set {at}{word}" for at in range(2)]
    return Reproduction.of(
        id=f"toy{word}", title=f"A figure of a paper{word}",
        paper={"source": f"somebody{word}", "statement": f"It rises{word}.", "numbers": f"10 and 35{word}"},
        columns=[f"set{word}", "share", "share of the paper"],
        rows=[[place, share, stated] for place, share, stated in zip(places, shares, (0.1, 0.35), strict=True)],
        settings={f"records{word}": 200}, statements=[statement(f"it rises{word}", True, {"second": shares[1]})],
        compared=[compare(place, share, stated, 0.01) for place, share, stated in zip(places, shares, (0.1, 0.35), strict=True)],
        panels=[
            panels.bars(f"Shares{word}", ("Set", "Share"), places, {f"ours{word}": shares}, paper={f"ours{word}": (0.1, 0.35)}),
            panels.lines(f"By size{word}", ("Records", "Share"), {f"ours{word}": [(10, shares[0]), (100, shares[1])]}, log="xy"),
        ],
        notes=[f"The data were generated{word}."],
    )  # fmt: skip


KINDS: dict[str, Callable[..., Result]] = {
    "attributes": attributes_of, "audit": audit, "causal": causal, "comparison": comparison, "diff": diff, "frontier": frontier,
    "leakage": leakage, "reconstruction": reconstruction, "reproduction": reproduction,
}  # fmt: skip
#: Results whose numbers are stored; `diff` and `reproduction` follow from others.
STUDIES: dict[str, Callable[..., Result]] = KINDS | {"regression": regression, "scores": scores}
