"""How the site is built from this folder: Sphinx, MyST for the pages, autodoc for the reference, Furo for the look.

`make docs` writes it to site/. Nothing on it comes from a network, and a warning is an error.
"""

import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

import stableopt
from stableopt.cli.commands import app as commands

project = "stableopt"
author = "The stableopt authors"
release = version = stableopt.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"stableopt {release}"
html_copy_source = False
html_show_copyright = False

# Pages: anchors of headings as other viewers make them; the notebook runs when the site is built, and must not fail.
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True

# The reference: names in backticks are links where they lead somewhere.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
# Members of these go without saying.
_OTHERS = "tuple,object,Generic,Protocol,ABC,Exception,BaseException,RuntimeError,NamedTuple"
autodoc_default_options = {"members": True, "inherited-members": _OTHERS}
add_module_names = False
toc_object_entries_show_parents = "hide"

_BAR = re.compile(r"(?<!\\)\|(?=(?:[^`]*``[^`]*``)*[^`]*$)")  # |x| is a size, and no substitution
_ARGUMENT = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)")


def _fields(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Arguments, written as ``name: what it is`` in docstrings, in the form that Sphinx lists."""
    known = _parameters(item)
    found, inside = [], False
    for line in lines:
        argument = _ARGUMENT.fullmatch(line)
        names = [n.strip("*") for n in argument[1].split(", ")] if argument else []
        if argument and names and known.issuperset(names):
            found += [] if inside or not found or not found[-1] else [""]
            shared, inside = names[:-1], True
            found += [f":param {each}: see ``{names[-1]}``" for each in shared]
            found.append(f":param {names[-1]}: {argument[2]}")
        elif inside and line and not line.startswith(" "):
            found += ["", line]
            inside = False
        else:
            inside = inside and bool(line)
            found.append(line)
    lines[:] = [_BAR.sub(r"\\|", line) for line in found]


def _parameters(item: Any) -> set[str]:
    """The names of what a function takes, or a class when it is made; also those that a class only passes on."""
    try:
        names = set(inspect.signature(item).parameters)
    except (TypeError, ValueError):
        return set()
    if not isinstance(item, type):
        return names
    more = [getattr(base, "__annotations__", {}) for base in item.__mro__]
    words = getattr(inspect.getmodule(item), "Setup", None)
    return names.union(*more, getattr(words, "__annotations__", ()), {"stopped", "errors", "optimizer", "result"})


class Commands(SphinxDirective):
    """Every command of the command line with its arguments and options, as the program itself knows them."""

    def run(self) -> list[nodes.Node]:
        """What the directive stands for."""
        found: list[nodes.Node] = []
        program = get_command(commands)
        for name, command in sorted(program.commands.items()):
            section = nodes.section(ids=[f"stableopt-{name}"])
            section += nodes.title(text=f"stableopt {name}")
            section += nodes.paragraph(text=inspect.cleandoc(command.help or ""))
            rows = nodes.definition_list()
            for given in command.params:
                term = nodes.term("", "", nodes.literal(text=", ".join(_written(given))))
                said = nodes.paragraph(text=getattr(given, "help", None) or "")
                if isinstance(given.default, int | float | str | Path) and given.default not in (False, ""):
                    said += nodes.Text(f" By default {given.default}.")
                rows += nodes.definition_list_item("", term, nodes.definition("", said))
            section += rows
            found.append(section)
        return found


def _written(given: Any) -> list[str]:
    """How an option or an argument is written."""
    return (
        [given.metavar or given.name.upper()]
        if given.param_type_name == "argument"
        else [*given.opts, *given.secondary_opts]
    )


def setup(app: Any) -> None:
    """What Sphinx calls first."""
    app.connect("autodoc-process-docstring", _fields)
    app.add_directive("commands", Commands)
