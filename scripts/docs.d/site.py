"""Makes the manual the first page of a merged DocC site, and looks for broken links in the site.

Argument: the site's folder. Every page, section and picture that a page refers to must be in the site. Addresses outside of
the site must be `https`; they are not requested.
"""
import json
import pathlib
import sys

site = pathlib.Path(sys.argv[1])
problems = []
links = 0

(site / "index.html").write_text(
    '<!doctype html><meta charset="utf-8"><title>Balloon</title>'
    '<meta http-equiv="refresh" content="0; url=documentation/manual/">\n')
# The navigator shows the pages of a target below the first node with the target's path. The manual has such nodes as well, but
# without pages below them, so the manual is moved to the end.
index = site / "index" / "index.json"
tree = json.loads(index.read_text())
for roots in tree["interfaceLanguages"].values():
    for root in roots:
        root.get("children", []).sort(key=lambda node: node.get("path") == "/documentation/manual")
index.write_text(json.dumps(tree))


def walk(value):
    """Yields every object in a page's JSON."""
    if isinstance(value, dict):
        yield value
        value = value.values()
    if isinstance(value, (list, type({}.values()))):
        for child in value:
            yield from walk(child)


def page(url):
    return site / "data" / (url.split("#")[0].strip("/") + ".json")


anchors = {}
pages = sorted((site / "data").rglob("*.json"))
for path in pages:
    content = json.loads(path.read_text())
    anchors[path] = {item["anchor"].lower() for item in walk(content) if "anchor" in item}
    name = path.relative_to(site / "data").with_suffix("")
    if not (site / name / "index.html").is_file():
        problems.append(f"{name}: a browser finds no page there")
    for key, reference in content.get("references", {}).items():
        url = reference.get("url", reference.get("destination", ""))
        if reference.get("type") in ("image", "video"):
            for variant in reference["variants"]:
                links += 1
                if not (site / variant["url"].lstrip("/")).is_file():
                    problems.append(f"{name}: no picture {variant['url']}")
        elif reference.get("type") == "unresolvable" and "/documentation/" in key:
            # Other unresolvable references are protocols of the standard library, which a page names without a link.
            problems.append(f"{name}: {key} leads nowhere")
        elif url.startswith("/"):
            links += 1
            if not page(url).is_file():
                problems.append(f"{name}: no page {url}")
        elif "://" in url or url.startswith("mailto:"):
            links += 1
            if not url.startswith(("https://", "http://www.w3.org/", "http://127.0.0.1", "http://localhost", "mailto:")):
                problems.append(f"{name}: {url} is not https")
        elif url and reference.get("type") == "link":
            problems.append(f"{name}: {url} is a path that the site does not have")

for path in pages:
    for reference in json.loads(path.read_text()).get("references", {}).values():
        url = reference.get("url", "")
        if url.startswith("/") and "#" in url and page(url) in anchors:
            if url.split("#")[1].lower() not in anchors[page(url)]:
                problems.append(f"{path.relative_to(site / 'data')}: no section {url}")

for problem in problems:
    print(f"docs: {problem}")
if problems:
    sys.exit(1)
print(f"docs: {len(pages)} pages, {links} links, none broken")
