"""Pictures of a report, as SVG text: each answers one question. Matplotlib is loaded when drawn."""
