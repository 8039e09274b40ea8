"""Writes hostile messages of up to 8 MiB to a folder, one file for each kind of cost."""
import base64
import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1])
SIZE = 8 << 20
BID = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"
PAGE = {"type": "input", "title": "t", "subtitle": "s"}
MARKS = "\u0301\u0323"


def interactive(**data):
    return {"type": "interactive", "interactiveData": {
        "bid": BID, "data": {"version": "1.0", "requestIdentifier": "r", **data}, "receivedMessage": {"title": "t"}}}


def form(pages):
    data = {"startPageIdentifier": pages[0]["pageIdentifier"], "pages": pages}
    return interactive(dynamic={"version": "1.2", "template": "messageForms", "data": data})


def select(number, items):
    return {**PAGE, "type": "select", "pageIdentifier": f"p{number}", "items": items}


def item(number, **members):
    return {"identifier": str(number), "title": "t", "value": "v", **members}


def picker(items, sections):
    return {"sections": [{"title": "t", "items": items} for _ in range(sections)]}


def image(start, fill, size):
    return base64.b64encode(start + fill * size).decode()


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1"
messages = {
    "text": {"type": "text", "body": "a" * (SIZE - 40)},
    "marks in the body": {"type": "text", "body": "a" + MARKS * (SIZE // 4 - 20)},
    "marks in identifiers": interactive(event={"identifier": "e", "timeslots": [
        {"identifier": "a" + MARKS * 1000 + str(number), "duration": 1, "startTime": "T" + MARKS * 1000 + "Z"} for number in range(1000)]}),
    "marks in a name": {"type": "text", "body": "x", "a" + MARKS * (SIZE // 4 - 20): 1},
    "escapes in a name": '{"type":"text","body":"x","' + "\\u0041" * (SIZE // 6 - 10) + '":1}',
    "separators": {"type": "text", "body": "x", "id": "-" * (SIZE // 2), "locale": "en" + "-a" * (SIZE // 4 - 40)},
    "address": {"type": "richLink", "richLinkData": {"url": "https://" + "a@" * (SIZE // 2 - 60), "title": "t"}},
    "unknown members": '{"type":"text","body":"x"' + ',"a":1' * (SIZE // 6 - 10) + "}",
    "long unknown members": {"type": "text", "body": "x", **{f"n{number}" + "x" * 800: 1 for number in range(9990)}},
    "unknown members of pages": form([{**PAGE, "pageIdentifier": f"p{page}", **{f"u{number}": 1 for number in range(90)}}
                                      for page in range(999)]),
    "items without members": interactive(listPicker=picker([{}] * 97, 990)),
    "equal identifiers": interactive(listPicker=picker([{"identifier": "a", "title": "t"}] * 49, 650)),
    "dangling images": interactive(
        images=[{"identifier": f"{number:06d}", "data": ""} for number in range(1000)],
        listPicker=picker([{"imageIdentifier": f"x{number}"} for number in range(1000)], 45)),
    "one image of many items": interactive(
        images=[{"identifier": "a", "data": image(PNG, b"\0", 5_200_000)}],
        listPicker=picker([item(number, imageIdentifier="a") for number in range(1000)], 18)),
    "a JPEG of fill bytes": interactive(
        images=[{"identifier": "a", "data": image(b"\xff\xd8", b"\xff", 6_000_000)}], listPicker=picker([item(1, imageIdentifier="a")], 1)),
    "circle of pages": form([{**PAGE, "pageIdentifier": f"p{page}", "nextPageIdentifier": f"p{(page + 1) % 1000}"} for page in range(1000)]),
    "diamonds of pages": form([select(page, [item(way, nextPageIdentifier=f"p{(page + 1 + way % 7) % 900}") for way in range(20)])
                               for page in range(900)]),
    "dangling pages": form([select(page, [item(way, nextPageIdentifier=f"x{way}") for way in range(20)]) for page in range(900)]),
    # Each slash is written as an escape.
    "dangling pages with escaped names": json.dumps(form([
        {**PAGE, "pageIdentifier": f"{page}" + "|" * 4000, "nextPageIdentifier": f"q{page}"} for page in range(990)])).replace("|", "\\/"),
    "expressions": form([{**PAGE, "pageIdentifier": f"p{page}", "options": {
        "regex": "(" * 25 + "[a-z&&[^aeiou]]{1,3}" * 94 + ")" * 25}} for page in range(999)]),
    "a deep expression": form([{**PAGE, "pageIdentifier": "p", "options": {"regex": "[" * (SIZE // 2) + "]" * (SIZE // 2 - 500)}}]),
    "attachments": {"type": "text", "body": "x", "attachments": [{"size": 1}] * 500_000},
    "empty lists": '{"type":"text","body":"x","a":[' + "[]," * (SIZE // 3 - 20) + "[]]}",
    "deep lists": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "line feeds": '{"type":"text",' + "\n" * (SIZE - 300_000) + '"body":"x"' + "".join(f',\n"a{number}":1' for number in range(9000)) + "}",
}
for name, message in messages.items():
    text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
