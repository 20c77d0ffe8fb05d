"""What the document of a comparison decides: the order of its statements, and what the chart highlights."""

from dataclasses import replace

import pytest
from comparisons import CANDIDATES, sample_comparison

from leakscope.comparison.decisions import comparison_claims
from leakscope.report.document import Table, walk
from leakscope.report.documents import comparison, document


def test_a_refuted_guarantee_comes_first():
    refuted, kept = (document(sample_comparison(versions=versions)).answer for versions in (10, 8))
    assert (refuted.tone, kept.tone) == ("risk", "safe")
    assert "dp-sgd 1" in refuted.headline
    assert refuted.sentences[0] == kept.headline
    assert [item.title for item in comparison.advise(sample_comparison())] == [
        "Use “l2 1”",
        "Do not rely on the guarantee of “dp-sgd 1”",
    ]


@pytest.mark.parametrize(
    "kind", ["use", "utility_limit", "not_lowered", "nothing_to_lower", "inconclusive", "untested"]
)
def test_only_the_recommended_version_is_tagged_so(kind):
    made = document(sample_comparison(kind, versions=8))
    (table,) = (block for block in walk(made.blocks) if isinstance(block, Table) and block.title == "Versions")
    tagged = [row.cells[0] for row in table.rows if row.tag == "recommended"]
    assert tagged == (["3 l2 1"] if kind == "use" else [])
    assert len(made.answer.technical) >= (kind in CANDIDATES)


def test_an_error_is_better_to_the_left():
    found = sample_comparison()
    utility = {
        one.name: {key: replace(two, better="less") for key, two in one.utility.items()} for one in found.compared
    }
    turned = replace(found, compared=tuple(replace(one, utility=utility[one.name]) for one in found.compared))
    turned = replace(turned, settings=found.settings | {"task": "regression"}, claims=comparison_claims(turned))
    assert "left is better" in document(turned).charts()[0].x.label


def test_the_chart_has_every_version_and_highlights_pareto_optimal_ones():
    found = sample_comparison()
    many = [
        replace(version, name=f"{version.name}, {at}", pareto_optimal=at == 1 and version.pareto_optimal)
        for at in range(4)
        for version in found.compared
    ]
    found = replace(found, compared=(*found.compared, *many))
    (chart,) = document(replace(found, claims=comparison_claims(found))).charts()
    marks = [mark for series in chart.series for mark in series.marks]
    assert len(marks) == len({mark.label for mark in marks}) == 50
    assert set(chart.highlighted) < {mark.label for mark in marks}
    assert len(chart.highlighted) == sum(version.pareto_optimal for version in found.compared) > 0
