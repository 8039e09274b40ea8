"""Prints docc's errors and warnings for one catalogue; exits with 1 when there are any.

Arguments: docc's diagnostics file, the folder of the target's symbol graph, the folder of its sources.

swift-symbolgraph-extract omits enumerations whose payloads are `package` types of other modules. A documentation comment may
nevertheless link to such a type. A page may not, because readers could not follow the link.
"""
import json
import pathlib
import re
import sys

diagnostics, graphs, sources = (pathlib.Path(argument) for argument in sys.argv[1:])

known = set()
for graph in graphs.glob("*.json"):
    known |= {symbol["pathComponents"][0] for symbol in json.loads(graph.read_text())["symbols"]}
declared = set()
for file in sources.rglob("*.swift"):
    declared |= set(re.findall(r"^package (?:final )?(?:enum|struct|class) (\w+)", file.read_text(), re.MULTILINE))
left_out = declared - known

problems = 0
for found in json.loads(diagnostics.read_text())["diagnostics"]:
    if found["severity"] not in ("warning", "error"):
        continue
    source = found.get("source", "")
    missing = re.match(r"'(\w+)(?:[/.].*)?' doesn't exist at", found["summary"])
    if missing and missing[1] in left_out and source.endswith(".swift"):
        continue
    line = found.get("range", {}).get("start", {}).get("line", 0)
    print(f"{source.removeprefix('file://')}:{line}: {found['summary']}")
    problems += 1
sys.exit(1 if problems else 0)
