"""One page with all results: figures, tables, and the paper's statements beside ours.

The page is one file: pictures are inside it, there is no script and nothing to load, and it fits a phone.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from stableopt.paper.experiments.base import Performed
from stableopt.paper.experiments.output import best, header, rows
from stableopt.paper.experiments.store import versions

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --good: #009e73; --bad: #d55e00; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
p, div, code { overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; } img { max-width: 100%; height: auto; background: white; border-radius: .3rem; }
img.wide { max-width: none; width: max(100%, 48rem); } /* on a phone, figures of several panels scroll */
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 2rem; }
a { color: inherit; } nav a { margin-right: .8rem; white-space: nowrap; display: inline-block; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td + td { font-variant-numeric: tabular-nums; } tr.best td { font-weight: 600; }
blockquote { margin: 1rem 0; padding: .2rem 1rem; border-left: 3px solid var(--line); font-style: italic; }
.claim { padding: .4rem 0 .4rem 1rem; border-left: 3px solid var(--bad); margin: .7rem 0; }
.claim.held { border-color: var(--good); } .claim b { color: var(--bad); } .claim.held b { color: var(--good); }
.claim span { display: block; font-size: .9rem; } footer, .small { font-size: .85rem; opacity: .8; }
"""


def page(finished: Sequence[Performed], missed: Sequence[str] = ()) -> str:
    """The page as HTML."""
    links = " ".join(f'<a href="#{p.experiment.name}">{escape(p.experiment.title)}</a>' for p in finished)
    left_out = "".join(f"<p><b>Left out:</b> {escape(each)}</p>" for each in missed)
    used = ", ".join(f"{package} {number}" for package, number in versions().items())
    held = [claim.held for p in finished for claim in p.claims]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper's experiments, reproduced</title><style>{_STYLE}</style></head><body>\n"
        "<h1>Adversarially Robust Optimization with Gaussian Processes: the experiments, reproduced</h1>\n"
        f"<p>{sum(held)} of {len(held)} claims held. ± is one standard error over the runs. All algorithms of a run "
        "share their initial points and their noise, so differences are paired.</p>\n"
        f"<nav>{links}</nav>\n{left_out}{''.join(_section(p) for p in finished)}"
        f"<footer><p>{escape(used)}</p></footer></body></html>\n"
    )


def _section(performed: Performed) -> str:
    kind, results, plan = performed.experiment, performed.results, performed.results.plan
    top = best(kind, results)
    body = "".join(
        f"<tr{' class=best' if row[0] == top else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows(kind, results)
    )
    head = "".join(f"<th>{escape(heading)}</th>" for heading in header(kind, plan))
    claims = "".join(
        f'<div class="claim{" held" if claim.held else ""}"><b>{"Held" if claim.held else "Did not hold"}:</b> '
        f"{escape(claim.text)}.<span>{escape(claim.evidence)}.</span></div>"
        for claim in performed.claims
    )
    command = f"stableopt reproduce {kind.name} --runs {plan.runs} --rounds {plan.rounds} --seed {plan.seed}"
    if plan.algorithms != kind.algorithms:
        command += f" --algorithms {','.join(plan.algorithms)}"
    return (
        f'<section id="{kind.name}"><h2>{escape(kind.title)}</h2>\n{"".join(map(_picture, _shown(performed.files)))}'
        f'<div class="sides"><div><p>The paper:</p><blockquote>{escape(kind.paper)}</blockquote></div>'
        f"<div><p>Here:</p>{claims or '<p>Too few rounds or algorithms to check what it says.</p>'}</div></div>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p class="small"><code>{escape(command)}</code><br>{performed.seconds:.0f} s</p></section>\n'
    )


def _shown(files: Sequence[Path]) -> list[Path]:
    return [path for path in files if path.suffix in (".png", ".gif")]


def _picture(path: Path) -> str:
    kind, content = path.suffix.removeprefix("."), path.read_bytes()
    # The width in pixels: bytes 16 to 19 of a PNG file. Wider ones have several panels.
    wide = ' class="wide"' if kind == "png" and int.from_bytes(content[16:20], "big") > 1000 else ""
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
    return f'<div class="scroll"><p><img{wide} alt="{escape(path.stem)}" src="{source}"></p></div>\n'
