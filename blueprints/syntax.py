"""What the YAML parser's complaints mean, in words for someone who doesn't know the YAML specification."""

import re

import yaml

from . import document, finding
from .codes import Code

VARIABLE = re.compile(r"\$\{|\$\(|\$[A-Za-z_]|\{\{|<%")
"""How programs that fill in texts mark the places. A value with such a mark that the language refuses is refused for it."""
VARIABLE_WHY = "variables aren't part of the language, so that a blueprint says the same wherever it is read"
VARIABLE_REMEDY = "write the value; what differs from stack to stack is set there (`clusterwright:set`), and a variant `extends` a blueprint"
_TAB_WHY = "YAML indents with spaces only"
_TAB_REMEDY = "replace the tab with spaces"

_MEANINGS = {
    "mapping values are not allowed in this context": (
        "a `: ` stands where no key can be",
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
    "did not find expected ',' or ']'": ("a list in brackets goes wrong here", "its items are separated by commas and end with ]", "write the comma or the ]"),
    "did not find expected ',' or '}'": (
        "a mapping in braces goes wrong here",
        "its entries are separated by commas and end with }",
        "write the comma or the }",
    ),
}


def explain(error: yaml.MarkedYAMLError, *, file: str, lines: tuple[str, ...]) -> finding.Finding:
    """Turn a complaint of the parser into a finding."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    if error.problem == "found unexpected end of stream" and error.context_mark:
        line, column = error.context_mark.line, error.context_mark.column
    line = min(line, len(lines) - 1)
    where = document.position(file, lines, document.Mark(line, column, 1))
    if _is_tab(error, lines[line], column):
        return finding.Finding(finding.Level.ERROR, Code.TAB, where, "a tab where YAML wants spaces", _TAB_WHY, _TAB_REMEDY)
    if VARIABLE.search(lines[line]) and "',' or '" in (error.problem or ""):
        return finding.Finding(finding.Level.ERROR, Code.YAML_SYNTAX, where, "a variable stands in this line", VARIABLE_WHY, VARIABLE_REMEDY)
    problem = error.problem or "it can't be understood"
    fallback = ("this is not YAML", f"the YAML parser says: {problem}", "check the indentation, quotes, brackets and colons around this place")
    what, why, remedy = _MEANINGS.get(problem, fallback)
    return finding.Finding(finding.Level.ERROR, Code.YAML_SYNTAX, where, what, why, remedy)


def _is_tab(error: yaml.MarkedYAMLError, line: str, column: int) -> bool:
    indentation = line[: len(line) - len(line.lstrip())]
    return line[column : column + 1] == "\t" or "tab" in (error.problem or "") or ("\t" in indentation and column <= len(indentation))
