# Compares an OpenAPI document with the recorded one: they may differ in the order of members and of "required" only.
# Usage: same.py RECORDED SERVED [--write]   (--write records the served document, for a change that is meant)
import json, sys


def ordered(value, name=None):
    if isinstance(value, dict):
        return {key: ordered(value[key], key) for key in sorted(value)}
    if isinstance(value, list):
        return sorted(value) if name == "required" else [ordered(one) for one in value]
    return value


def differences(recorded, served, place=""):
    if isinstance(recorded, dict) and isinstance(served, dict):
        for key in sorted(recorded.keys() | served.keys()):
            yield from differences(recorded.get(key), served.get(key), f"{place}/{key}")
    elif recorded != served:
        yield f"{place}: {json.dumps(recorded)} is now {json.dumps(served)}"


served = ordered(json.load(open(sys.argv[2])))
if sys.argv[3:] == ["--write"]:
    with open(sys.argv[1], "w") as file:
        file.write(json.dumps(served) + "\n")
found = list(differences(ordered(json.load(open(sys.argv[1]))), served))
for line in found:
    print(f"api: {sys.argv[1]}{line}")
sys.exit(1 if found else 0)
