"""Checks that the pages agree with the repository; scripts/pages calls it in the root of the repository."""
import collections
import pathlib
import re
import subprocess
import sys

SERVER = pathlib.Path("Sources/MessageServer/MessageServer.docc")
problems = []


def check(is_right, problem):
    if not is_right:
        problems.append(problem)


def rows(text, heading):
    """Yields the cells of each row of the table whose first line begins with `heading`."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(heading):
            next(lines)
            break
    else:
        problems.append(f"no table begins with: {heading}")
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


# Check the links of Markdown pages to files of the repository. A link to a folder counts as a link to its files, because
# hosts of repositories list them.
pages = [path for path in pathlib.Path(".").glob("*.md")]
pages += [path for folder in ("Manual.docc", "Sources", ".github") for path in pathlib.Path(folder).rglob("*.md")]
links = collections.defaultdict(set)
for page in pages:
    for target in re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"[a-z]+:|#", target):
            continue
        path = page.parent / target.split("#")[0]
        if not path.exists() and (page.parent / "Resources" / target).exists():
            continue  # DocC finds pictures in the catalogue by their names.
        check(path.exists(), f"{page}: no file {target}")
        links[page].add(path)
        if path.is_dir():
            links[path] |= set(path.iterdir())

# The picture must be the one that picture.py draws from its text file.
drawn = subprocess.run(
    [sys.executable, "scripts/docs.d/picture.py", "scripts/docs.d/message.picture"], capture_output=True, text=True, check=True)
check(
    drawn.stdout == pathlib.Path("Manual.docc/Resources/message.svg").read_text(),
    "Manual.docc/Resources/message.svg is not what scripts/docs.d/picture.py draws from message.picture")

# Each target must have a page that begins with a picture of at most 78 columns, so that a page shows all of it.
for target in sorted(path for path in pathlib.Path("Sources").iterdir() if any(path.glob("*.swift"))):
    page = target / f"{target.name}.docc" / f"{target.name}.md"
    if not page.is_file():
        problems.append(f"{target}: no page {page.name}")
        continue
    figure = re.search(r"^```\n(.*?)^```$", page.read_text().split("\n## Topics")[0], re.MULTILINE | re.DOTALL)
    check(figure, f"{page}: no picture")
    widest = max(map(len, figure[1].splitlines()), default=0) if figure else 0
    check(widest <= 78, f"{page}: a picture of {widest} columns; a page shows 78")

# A decision record has a number that no other has, the number in its title, and at most 60 lines. The index lists it once,
# unless it is superseded.
index = (SERVER / "Decisions.md").read_text()
numbers = collections.Counter()
for record in sorted((SERVER / "Decisions").glob("*.md")):
    text, number = record.read_text(), record.name[:4]
    numbers[number] += 1
    check(re.match(rf"# {number}: \S", text), f"{record}: the title does not begin with # {number}:")
    check(len(text.splitlines()) <= 60, f"{record}: {len(text.splitlines())} lines are more than a screen of 60")
    is_superseded = re.search(r"## Status\s+Superseded", text) is not None
    listed = len(re.findall(rf"^- <doc:{record.stem}>$", index, re.MULTILINE))
    check(listed == (0 if is_superseded else 1), f"{record}: {listed} times in the index")
for number, count in numbers.items():
    check(count == 1, f"the number {number} names {count} records")

# CONTRIBUTING's table lists each script.
contributing = pathlib.Path("CONTRIBUTING.md").read_text()
for script in sorted(path for path in pathlib.Path("scripts").iterdir() if path.is_file() and path.suffix != ".txt"):
    check(re.search(rf"^\|.*`scripts/{re.escape(script.name)}[ `]", contributing, re.MULTILINE), f"CONTRIBUTING.md does not list {script}")
for part in sorted(pathlib.Path("scripts/test.d").iterdir()):
    check(re.search(rf"`(scripts/test )?{part.name}`", contributing), f"CONTRIBUTING.md does not list {part}")

# Each target has a page, with a row for each of its folders.
for target in sorted(path for path in pathlib.Path("Sources").iterdir() if list(path.rglob("*.swift"))):
    page = target / f"{target.name}.docc/{target.name}.md"
    check(page.exists(), f"{target} has no page {page}")
    text = page.read_text() if page.exists() else ""
    for folder in sorted(path for path in target.iterdir() if path.is_dir() and path.suffix != ".docc"):
        check(f"| `{folder.name}` |" in text, f"{page} has no row for the folder {folder.name}")

# The table of stages must have the cases of StageEvent.Stage in the same order.
source = pathlib.Path("Sources/MessageServer/Stages/StageEvent.swift").read_text()
cases = re.findall(r"^        case (\w+)$", source.split("enum Stage:")[1].split("enum Result")[0], re.MULTILINE)
stages = [cells[1].strip("`") for cells in rows((SERVER / "Architecture.md").read_text(), "| # | stage ") if cells[0]]
check(stages == cases, f"Architecture.md lists the stages {stages}, StageEvent has {cases}")

# The page OneMessage may list at most 25 files, and each file must have the functions that the page names.
files = list(rows((SERVER / "OneMessage.md").read_text(), "| # | file "))
check(0 < len(files) <= 25, f"OneMessage.md lists {len(files)} files; at most 25 are to be opened")
check(len({cells[1] for cells in files}) == len(files), "OneMessage.md lists a file twice")
for position, cells in enumerate(files, 1):
    check(cells[0] == str(position), f"OneMessage.md: row {position} has the number {cells[0]}")
    path = pathlib.Path("Sources") / cells[1].strip("`")
    if not path.is_file():
        problems.append(f"OneMessage.md: no file {path}")
        continue
    for function in re.findall(r"`(\w+)`", cells[2]):
        check(
            re.search(rf"\bfunc {function}\b", path.read_text()), f"OneMessage.md: {path} has no function {function}")

# The page Questions must have ten questions. Each answer must be on its page, at most three clicks from the README.
distance = {pathlib.Path("README.md"): 0}
queue = collections.deque(distance)
while queue:
    page = queue.popleft()
    for target in links[page]:
        target = pathlib.Path(re.sub(r"[^/]+/\.\./", "", str(target)))
        if target not in distance:
            distance[target] = distance[page] + 1
            queue.append(target)
questions = list(rows(pathlib.Path("Manual.docc/Questions.md").read_text(), "| question "))
check(len(questions) == 10, f"Questions.md has {len(questions)} questions, not 10")
for question, page, says, clicks in questions:
    page = pathlib.Path(page)
    if not page.is_file():
        problems.append(f"Questions.md: no page {page}")
        continue
    reached = distance.get(page)
    check(reached is not None and reached <= 3, f"Questions.md: {page} is {reached} clicks from the README: {question}")
    check(str(reached) == clicks, f"Questions.md: {page} is {reached} clicks away, not {clicks}: {question}")
    words = " ".join(page.read_text().split())
    check(says in words, f"Questions.md: {page} does not say \"{says}\": {question}")

# The program's version must be that of the newest release in CHANGELOG.md.
number = re.search(r'number = "([^"]+)"', pathlib.Path("Sources/balloon/BuildVersion.swift").read_text())[1]
release = re.search(r"^## \[?(\d[\w.]*)", pathlib.Path("CHANGELOG.md").read_text(), re.MULTILINE)
check(not release or release[1] == number, f"BuildVersion has {number}, the newest release in CHANGELOG.md is {release and release[1]}")

for problem in problems:
    print(f"pages: {problem}")
if problems:
    sys.exit(1)
print(f"pages: {len(pages)} pages, {sum(map(len, links.values()))} links, {len(numbers)} records, {len(files)} files, {len(questions)} questions")
