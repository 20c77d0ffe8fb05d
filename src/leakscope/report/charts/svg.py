"""Charts as inline SVG."""

from markupsafe import Markup

from leakscope.report.charts.model import Chart


def draw(chart: Chart) -> Markup:
    """Give a chart as SVG."""
    return Markup('<svg role="img"><title>{}</title><desc>{}</desc></svg>').format(chart.title, chart.description)
