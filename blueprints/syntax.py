"""What the YAML parser's errors mean, for readers who don't know the YAML specification."""

import re

import yaml

from . import document, finding, lookalikes
from .codes import Code

VARIABLE = re.compile(r"\$\{|\$\(|\$[A-Za-z_]|\{\{|<%")
"""How programs that fill in texts mark the places. A value with such a mark that the language refuses is refused for it."""
VARIABLE_WHY = "variables aren't part of the language, so that a blueprint says the same wherever it is read"
VARIABLE_REMEDY = "write the value; what differs from stack to stack is set there (`clusterwright:set`), and a variant `extends` a blueprint"
_TAB_WHY = "YAML indents with spaces only"
_TAB_REMEDY = "replace the tab with spaces"
_CLOSING = {"{": "}", "[": "]"}
_IN_BRACKETS = ("while parsing a flow mapping", "while parsing a flow sequence")

_MEANINGS = {
    "mapping values are not allowed in this context": (
        "there is a `: ` where no key can be",
        "either the line is indented further than its neighbours, or a text with a colon needs quotes",
        "line it up with the lines above, or put the text in quotes",
    ),
    "could not find expected ':'": ("a key without a colon", "inside a mapping every line reads `key: value`", "write the colon, and a space after it"),
    "did not find expected key": (
        "this line doesn't belong where its indentation puts it",
        "it fits neither the mapping around it nor the one before it",
        "line it up with the lines it belongs to",
    ),
    "did not find expected '-' indicator": (
        "a line in a list that begins with no `- `",
        "every item of a list begins with `- ` in the same column",
        "line it up with the other items, or write `- ` before it",
    ),
    "block sequence entries are not allowed in this context": (
        "a list item where none can be",
        "`- ` begins an item on a line of its own, not after `key:` on the same line",
        "begin the list on the next line, or write it as [a, b]",
    ),
    "found unexpected end of stream": (
        "a quote or bracket is never closed",
        "the file ends inside it",
        "close it; the opening one is the place shown or before it",
    ),
    "found unknown escape character": (
        "an unknown escape in a text in double quotes",
        r"in double quotes a backslash begins an escape such as \n",
        r"write \\ for a backslash, or use single quotes",
    ),
    "found character that cannot start any token": (
        "a value can't begin with this character",
        "@ and ` are reserved in YAML, and % begins a directive",
        "put the value in quotes",
    ),
    "did not find expected ',' or ']'": (
        "this list in brackets lacks a comma or its `]`",
        "commas separate its items, and `]` closes it",
        "write the comma or the `]`",
    ),
    "did not find expected ',' or '}'": (
        "this mapping in braces lacks a comma or its `}`",
        "commas separate its entries, and `}` closes it",
        "write the comma or the `}`",
    ),
}


def explain(error: yaml.MarkedYAMLError, *, file: str, lines: tuple[str, ...]) -> finding.Finding:
    """Turn a complaint of the parser into a finding."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    if error.problem == "found unexpected end of stream" and error.context_mark:
        line, column = error.context_mark.line, error.context_mark.column
    line = min(line, len(lines) - 1)
    odd = _look_alike(lines, line)
    if odd is not None:
        return lookalikes.refusal(document.position(file, lines, odd), lines[odd.line][odd.column])
    opening = _unclosed(error, lines)
    if opening is not None:
        bracket = lines[opening.line][opening.column]
        what = f"nothing closes this `{bracket}`"
        why = f"line {line + 1} goes on with something else, and a list or mapping in brackets ends with `{_CLOSING[bracket]}`"
        where = document.position(file, lines, opening)
        return finding.Finding(finding.Level.ERROR, Code.YAML_SYNTAX, where, what, why, f"write `{_CLOSING[bracket]}` where it ends")
    where = document.position(file, lines, document.Mark(line, column, 1))
    if _is_tab(error, lines[line], column):
        return finding.Finding(finding.Level.ERROR, Code.TAB, where, "a tab where YAML wants spaces", _TAB_WHY, _TAB_REMEDY)
    if VARIABLE.search(lines[line]) and "',' or '" in (error.problem or ""):
        return finding.Finding(finding.Level.ERROR, Code.YAML_SYNTAX, where, "this line has a variable", VARIABLE_WHY, VARIABLE_REMEDY)
    problem = error.problem or "it can't be understood"
    fallback = ("this is not YAML", f"the YAML parser reports: {problem}", "check the indentation, quotes, brackets and colons around this place")
    what, why, remedy = _MEANINGS.get(problem, fallback)
    return finding.Finding(finding.Level.ERROR, Code.YAML_SYNTAX, where, what, why, remedy)


def _look_alike(lines: tuple[str, ...], line: int) -> document.Mark | None:
    """Find a character that looks like one of YAML's marks, in the line that can't be understood or the one before."""
    for number in (line, line - 1):
        bare = lines[number].partition(" #")[0] if number >= 0 else ""
        odd = lookalikes.first_of_structure(bare)
        if odd is not None and not bare.lstrip().startswith("#"):
            return document.Mark(number, odd, 1)
    return None


def _unclosed(error: yaml.MarkedYAMLError, lines: tuple[str, ...]) -> document.Mark | None:
    """Find the bracket that is still open where a line begins that belongs to something else, or where the file ends."""
    begun, problem = error.context_mark, error.problem_mark
    if begun is None or problem is None or (error.context or "") not in _IN_BRACKETS or problem.line <= begun.line:
        return None
    later = lines[problem.line] if problem.line < len(lines) else ""
    is_outside = not later.strip() or _indentation(later) <= _indentation(lines[begun.line])
    return document.Mark(begun.line, begun.column, 1) if is_outside and later.strip()[:1] not in tuple(_CLOSING.values()) else None


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_tab(error: yaml.MarkedYAMLError, line: str, column: int) -> bool:
    indentation = line[: len(line) - len(line.lstrip())]
    return line[column : column + 1] == "\t" or "tab" in (error.problem or "") or ("\t" in indentation and column <= len(indentation))
