"""The report as one page that opens from a file, without network and without scripts.

Comes in: the page of the report, and pictures of it as SVG. Goes out: HTML whose policy allows
nothing but its own styles. Every text goes through the template's escaping.
"""

from importlib.util import find_spec
from pathlib import Path

from paceline.model import InputError, Profile, Report, replacing, shown
from paceline.write.charts.costs import costs
from paceline.write.charts.heatmap import heatmap
from paceline.write.charts.steps import step_chart
from paceline.write.report_page import report_page
from paceline.write.report_view import report_view

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"

_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ page.title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #e5e5e5;
  vertical-align: top; overflow-wrap: anywhere; }
td:first-child, th:first-child { white-space: nowrap; }
.right { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: 8rem 1fr; margin: 0; }
dt { color: #666; } dd { margin: 0; }
svg { width: 100%; height: auto; } figcaption, .note { color: #666; font-size: 0.85rem; }
figure { margin: 0; }
</style>
</head>
<body>
<h1>{{ page.title }}</h1>
<dl>{% for label, text in page.facts %}<dt>{{ label }}</dt><dd>{{ text }}</dd>{% endfor %}</dl>
{% for title, caption, picture in pictures %}{% if picture %}
<h2>{{ title }}</h2>
<figure>{{ picture | safe }}<figcaption>{{ caption }}</figcaption></figure>
{% endif %}{% endfor %}
{% for table in page.tables %}
<h2>{{ table.title }}</h2>
<table><thead><tr>{% for column in table.columns -%}
<th{% if column.right %} class="right"{% endif %}>{{ column.title }}</th>
{%- endfor %}</tr></thead><tbody>
{% for row in table.rows %}<tr>{% for cell in row -%}
<td{% if table.columns[loop.index0].right %} class="right"{% endif %}>{{ shown(cell, 400) }}</td>
{%- endfor %}</tr>
{% endfor %}</tbody></table>
{% if table.left_out %}
<p class="note">{{ table.left_out }} more rows in the JSON view.</p>
{% endif %}
{% endfor %}
</body>
</html>
"""


def report_html(report: Report, profile: Profile) -> str:
    """The page; needs the extra `html`."""
    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        raise InputError(
            "an HTML page needs matplotlib and jinja2.", cure="pip install 'paceline[html]'"
        )
    from jinja2 import Environment

    pictures = (
        ("What each cure would give", "Each on its own; costs do not add up.", costs(report)),
        ("One step", "The measured step nearest to the median.", step_chart(report, profile)),
        (
            "Workers and steps",
            "Red: slower than the median worker of that step at its own work, waiting left out.",
            heatmap(profile),
        ),
    )
    template = Environment(autoescape=True).from_string(_TEMPLATE)
    page = report_page(report_view(report))
    return template.render(page=page, pictures=pictures, policy=_POLICY, shown=shown)


def report_file(report: Report, profile: Profile, path: Path) -> None:
    """Writes the page whole, or leaves what was there."""
    text = report_html(report, profile)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
