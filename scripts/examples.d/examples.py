"""Tests the examples of the manual; see scripts/test.d/examples. Usage: examples.py PROGRAMS [PART OF A BLOCK'S NAME]"""

import concurrent.futures
import sys

import data
import journeys
import shell
from pages import blocks


def main(programs, wanted=""):
    found = list(blocks())
    problems, ran, parsed = [], 0, 0
    runnable = [block for block in found if block.language in ("sh", "bash", "console")]
    names = {block.name for block in runnable}
    problems += [f"{name}: no page has this block; scripts/examples.d/shell.py names it" for name in shell.TABLE if name not in names]
    problems += [f"{block.name}: add the block to scripts/examples.d/shell.py" for block in runnable if block.name not in shell.TABLE]
    problems += [f"{name}: no page has this block; scripts/examples.d/data.py names it"
                 for name in data.PARSED_ONLY if name not in {block.name for block in found if block.language == "json"}]
    configurations = data.Configurations(programs)
    if not wanted:
        for block in (block for block in found if block.language == "json"):
            parsed += 1
            reason = data.problem(block, configurations.problem)
            problems += [f"{block.name}: {reason}"] if reason else []
        settings = list(data.settings())
        for table, key, default in settings:
            reason = data.setting_problem(configurations, table, key, default)
            problems += [f"Configuration: the setting {key} of {table}: {reason}"] if reason else []
        print(f"examples: {parsed} JSON blocks parsed, {len(settings)} settings decoded", flush=True)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        running = {}
        for block in runnable:
            entry = shell.TABLE.get(block.name)
            if isinstance(entry, shell.Run) and wanted in block.name:
                running[pool.submit(shell.problem, block, programs)] = block.name
            elif isinstance(entry, shell.NotRun) and not wanted:
                print(f"examples: not run: {block.name}: {entry.why}")
        for author in journeys.AUTHORS:
            if wanted in f"journey: {author}":
                running[pool.submit(journeys.problem, author, programs)] = f"journey: {author}"
        for done in concurrent.futures.as_completed(running):
            ran += 1
            reason = done.result()
            problems += [f"{running[done]}: {reason}"] if reason else []
            print(f"examples: {'FAILED' if reason else 'ran'}: {running[done]}", flush=True)
    for reason in problems:
        print(f"examples: {reason}")
    print(f"examples: {ran} shell blocks and journeys ran, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
