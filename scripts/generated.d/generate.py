"""Compares each generated part with its source, and exits with 1 when one differs; with --write it writes the parts.

- The tables in config/handlers/python/balloon.py and config/handlers/node/balloon.mjs, from config/schemas. They stand
  between two lines that begin with "generated:" in a comment.
- The media types of file name extensions in Swift and in the pages, from config/schemas/media-types.json.
- The names of an answer's members in Swift, which the log may have.
- The table of checks on the page BeforeApplesReview, from the table in Swift.
"""
import json
import re
import sys
import textwrap

SCHEMAS = "config/schemas/"
PYTHON = "config/handlers/python/balloon.py"
NODE = "config/handlers/node/balloon.mjs"
SWIFT_TYPES = "Sources/BusinessMessages/Outbound/MediaType+Table.swift"
SWIFT_NAMES = "Sources/HandlerKit/AnswerRefusal+Names.swift"
WEB_TYPES = "Sources/CWeb/web/media-types.js"
REVIEW_CHECKS = "Sources/Review/ReviewChecks.swift"
REVIEW_PAGE = "Sources/MessageServer/MessageServer.docc/BeforeApplesReview.md"

def compact(schema):
    """The schema without descriptions, which do not affect validation, and with `x-rule` renamed to `rule`."""
    if isinstance(schema, list):
        return [compact(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in ("description", "examples", "title", "$schema", "$id") and not isinstance(value, dict):
            continue
        if key == "$ref":
            value = value.rsplit("/", 1)[-1]
        kept["rule" if key == "x-rule" else key] = compact(value)
    return kept


def wrapped(text, width=116):
    """Breaks compact JSON into lines of at most `width` characters, after commas outside strings."""
    parts, start, quoted, escaped = [], 0, False, False
    for place, letter in enumerate(text):
        if escaped:
            escaped = False
        elif quoted and letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter == "," and not quoted:
            parts.append(text[start:place + 1])
            start = place + 1
    parts.append(text[start:])
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def tables():
    """The tables that the libraries need from both schemas, as JSON texts by the names of their constants."""
    with open(SCHEMAS + "outbound.schema.json", encoding="utf-8") as file:
        outbound = json.load(file)
    with open(SCHEMAS + "handler.schema.json", encoding="utf-8") as file:
        handler = json.load(file)["$defs"]
    definitions = {"message": compact({key: outbound[key] for key in ("type", "required", "properties", "allOf")})}
    definitions.update(compact(outbound["$defs"]))
    kinds = handler["kind"]["enum"]
    others = [each["const"] for each in handler["subscription"]["anyOf"] if "const" in each]
    answer = handler["answer"]["properties"]["result"]
    replies = answer["properties"]["replies"]["anyOf"]
    limits = handler["initialize"]["properties"]["params"]["properties"]["limits"]["properties"]
    event = handler["event"]["properties"]["params"]["properties"]["event"]["properties"]
    values = {
        "KINDS": kinds,
        "EXTRA_EVENTS": others,
        "PAYMENTS": handler["paymentCallback"]["enum"],
        "EVENT_MEMBERS": [name for name in event if not name.startswith("message")],
        "MAXIMUM_REPLIES": next(each["maxItems"] for each in replies if "maxItems" in each),
        "MAXIMUM_LINE_BYTES": limits["maxLineBytes"]["const"],
        "MEDIA_TYPES": {"." + extension: kind for extension, kind in media_types().items()},
        "SCHEMA": definitions,
    }
    return {name: wrapped(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) for name, value in values.items()}


def media_types():
    """The media types by extension: those of Apple's page "Text Message Type" first, then others that people send."""
    with open(SCHEMAS + "media-types.json", encoding="utf-8") as file:
        return json.load(file)


def swift_types():
    """The media types as a Swift dictionary."""
    rows = [f'        "{extension}": "{kind}",' for extension, kind in media_types().items()]
    lines = ["// Written by scripts/generated from config/schemas/media-types.json.", "", "extension MediaType {",
             "    /// The media types by extension in lower case.", "    static let byExtension = [", *rows, "    ]", "}"]
    return "\n".join(lines) + "\n"


def is_list(schema, root):
    """Whether a value that the schema allows is a list."""
    if not isinstance(schema, dict):
        return False
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return is_list(target, root)
    choices = [each for word in ("anyOf", "oneOf", "allOf") for each in schema.get(word, [])]
    return "array" in schema.get("type", "") or any(is_list(each, root) for each in choices)


def members(value, root):
    """Yields the name of each member in a schema, and whether it is a list."""
    if isinstance(value, dict):
        for name, schema in value.get("properties", {}).items():
            yield name, is_list(schema, root)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(part, root)


def swift_names():
    """The names of an answer's members as Swift sets: all, and those of lists."""
    names = {}
    for schema in ("handler", "outbound"):
        with open(SCHEMAS + schema + ".schema.json", encoding="utf-8") as file:
            root = json.load(file)
        for name, lists in members(root, root):
            names[name] = names.get(name, False) or lists

    def rows(chosen):
        text = ", ".join('"' + name + '"' for name in sorted(chosen))
        return ["        " + row for row in textwrap.wrap(text + ",", 100, break_long_words=False, break_on_hyphens=False)]

    lines = ["// Written by scripts/generated from config/schemas.", "", "extension AnswerRefusal.Problem {",
             "    /// The names of members in Apple's messages and in the handler protocol.",
             "    static let memberNames: Set<Substring> = [", *rows(names), "    ]", "",
             "    /// Those of ``memberNames`` whose value is a list.",
             "    static let listNames: Set<Substring> = [", *rows(name for name in names if names[name]), "    ]", "}"]
    return "\n".join(lines) + "\n"


def web_types():
    """The media types as a JavaScript module."""
    rows = [f'  {extension}: "{kind}",' for extension, kind in media_types().items()]
    lines = ["// Written by scripts/generated from config/schemas/media-types.json.", "", "const types = {", *rows, "};", "",
             "/** The media type of a file by its extension; of an unknown extension what the browser says, if it knows one. */",
             "export const mediaType = (file) => {",
             "  const extension = file.name.slice(file.name.lastIndexOf(\".\") + 1).toLowerCase();",
             "  return (Object.hasOwn(types, extension) ? types[extension] : file.type.split(\";\")[0].trim()) || \"application/octet-stream\";",
             "};"]
    return "\n".join(lines) + "\n"


def review_checks():
    """The rows of the review as lines of a table in Markdown."""
    with open(REVIEW_CHECKS, encoding="utf-8") as file:
        text = file.read()
    row = r'ReviewCheck\(\s*(\d+),\s*"([^"]*)",\s*"([^"]*)",\s*from:\s*"([^"]*)",\s*\.(\w+),'
    rows = re.findall(row, text)
    if len(rows) != len(re.findall(r"\bReviewCheck\(", text)):
        raise ValueError(REVIEW_CHECKS + " has a row that this script cannot read")
    words = {"apple": "Apple", "quoted": "Apple, quoted", "vendors": "vendors", "vendor": "one vendor", "inference": "inferred"}
    lines = [f"| C{number} | {title} | {needs} | {source} | {words[certainty]} |" for number, title, needs, source, certainty in rows]
    return ["", "| check | expectation | requirements | source | certainty |", "|---|---|---|---|---|", *lines, ""]


def with_tables(path, begin, end, lines):
    """The text of the library at `path`, with `lines` between its marks `begin` and `end`."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, rest = text.split(begin, 1)
    _, tail = rest.split(end, 1)
    return head + begin + "\n" + "\n".join(lines) + "\n" + end + tail


def parts():
    """Yields the path and the new text of each file that has a generated part."""
    values = tables()
    marks = ("generated: begin (scripts/generated --write; do not edit)", "generated: end")
    python = [
        name + (' = json.loads(r"""' + value + '""")' if value.startswith("{") else " = " + value)
        for name, value in values.items()
    ]
    node = ["const " + name + " = " + value + ";" for name, value in values.items()]
    libraries = {
        PYTHON: with_tables(PYTHON, "# " + marks[0], "# " + marks[1], python),
        NODE: with_tables(NODE, "// " + marks[0], "// " + marks[1], node),
    }
    yield from libraries.items()
    yield SWIFT_TYPES, swift_types()
    yield SWIFT_NAMES, swift_names()
    yield WEB_TYPES, web_types()
    yield REVIEW_PAGE, with_tables(REVIEW_PAGE, "## The checks\n", "## The words of the results\n", review_checks())


def main():
    write = sys.argv[1:] == ["--write"]
    stale = 0
    for path, text in parts():
        try:
            with open(path, encoding="utf-8") as file:
                same = file.read() == text
        except FileNotFoundError:
            same = False
        if same:
            continue
        stale += 1
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print("generated: wrote " + path)
        else:
            print("generated: " + path + " differs from its source; run scripts/generated --write")
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main())
