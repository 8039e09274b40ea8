"""The blocks of code on the pages of the manual."""

import collections
import json
import pathlib
import re
from dataclasses import dataclass

FENCE = re.compile(r"^( *)```(\w*)\s*$")
PAGES = [pathlib.Path("README.md"), *sorted(pathlib.Path("Manual.docc").glob("*.md")),
         *sorted(pathlib.Path("config").rglob("*.md")), *sorted(pathlib.Path("Sources").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    """A block: its page, the heading above it, its number below that heading, its language and its text."""
    page: str
    heading: str
    number: int
    language: str
    text: str

    @property
    def name(self):
        return f"{self.page} | {self.heading} | {self.number}"


def blocks():
    """All blocks, in the order of the pages. README files below config are named with their folder."""
    for path in PAGES:
        page = f"{path.parent.name}/{path.name}" if path.parts[0] == "config" else path.stem
        heading, language, lines, counts = "", None, [], collections.Counter()
        for line in path.read_text().splitlines():
            fence = FENCE.match(line)
            if language is None and line.startswith("#"):
                heading = line.lstrip("#").strip()
            elif language is None and fence:
                language, indent, lines = fence[2], len(fence[1]), []
            elif language is not None and line.strip() == "```":
                counts[heading] += 1
                yield Block(page, heading, counts[heading], language, "\n".join(lines))
                language = None
            elif language is not None:
                lines.append(line[indent:])


def documents(text):
    """The JSON documents of a block: whole values, or members such as `"data": {…}`, which become objects of one member.
    An ellipsis outside of strings stands for more of the same and is left out. Throws ValueError."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|,?\s*…', lambda match: match[1] or "", text)
    decoder, place, found = json.JSONDecoder(), 0, []
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        value, place = decoder.raw_decode(text, place)
        colon = re.compile(r"\s*:\s*").match(text, place)
        if isinstance(value, str) and colon:
            name = value
            value, place = decoder.raw_decode(text, colon.end())
            value = {name: value}
        found.append(value)
    return found
