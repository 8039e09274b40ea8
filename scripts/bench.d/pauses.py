"""Measures what a thousand customers with pauses for typing cost the customers of another business.

--binary FILE: the server to measure, instead of building it. --rounds N: the number of measurements (default 3). Each round runs a server without pauses and one with them. A thousand customers of one business write
at once, and for five seconds a new customer of the other business writes every 10 ms. Prints the time from each of these messages to its
first reply at the gateway, in milliseconds, as a table in Markdown; the median of the rounds counts.
"""
import argparse
import asyncio
import base64
import hashlib
import hmac
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CROWD, OTHERS, PACE = 1000, 500, 0.01
BUSINESSES = {"crowd": "5a6b7c8d-0000-4000-8000-000000000001", "others": "5a6b7c8d-0000-4000-8000-000000000002"}
SECRET = os.urandom(32)


def token():
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")
    text = part(b'{"alg":"HS256"}') + b"." + part(json.dumps({"aud": "msp", "iat": int(time.time())}).encode())
    return (text + b"." + part(hmac.digest(SECRET, text, hashlib.sha256))).decode()


async def read(reader):
    """The head and the body of a request or an answer; None at the end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    except asyncio.IncompleteReadError:
        return None
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
    return head, await reader.readexactly(length)


async def post(pool, port, business, customer):
    """Posts a text, and returns the time of its begin."""
    begin = time.monotonic()
    reader, writer = pool.pop() if pool else await asyncio.open_connection("127.0.0.1", port)
    body = b'{"v":1,"type":"text","body":"hello"}'
    writer.write((f"POST /message HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token()}\r\nid: {customer}\r\n"
                  f"source-id: urn:mbid:{customer}\r\ndestination-id: {BUSINESSES[business]}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
    head, _ = await read(reader)
    assert " 200 " in head.split("\r\n")[0], head
    pool.append((reader, writer))
    return begin


async def measure(binary, folder, has_pauses):
    """The times of the other customers in milliseconds, and the number of indicators."""
    first, counts, complete = {}, {"typing": 0, "crowd": 0}, asyncio.Event()

    async def serve(reader, writer):
        while request := await read(reader):
            head, body = request
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            customer = fields.get("destination-id", "")[len("urn:mbid:"):]
            if b"typing_start" in body:
                counts["typing"] += 1
            elif customer.startswith("other"):
                first.setdefault(customer, time.monotonic())
            else:
                counts["crowd"] += 1
            if counts["crowd"] >= 2 * CROWD and len(first) == OTHERS:
                complete.set()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    gateway = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    port = gateway.sockets[0].getsockname()[1]
    (folder / "businesses").mkdir(parents=True)
    (folder / "secret").write_text(base64.b64encode(SECRET).decode())
    (folder / "server.json").write_text(json.dumps({
        "mspID": "msp", "secret": {"file": "secret"}, "listen": "127.0.0.1:0", "adminListen": "off", "dataDirectory": str(folder / "data"),
        "gateway": {"url": f"http://127.0.0.1:{port}/v1", "downloadHosts": [f"127.0.0.1:{port}"]}}))
    for slug, business in BUSINESSES.items():
        settings = {"businessID": business, "name": slug, "handler": {"builtin": "demo"}}
        if has_pauses and slug == "crowd":
            settings["replies"] = {"typing": {}}
        (folder / f"businesses/{slug}.json").write_text(json.dumps(settings))
    server = await asyncio.create_subprocess_exec(
        binary, "serve", "--config", str(folder / "server.json"), "--log-level", "error", stdout=subprocess.PIPE)
    try:
        while (line := (await server.stdout.readline()).decode()) and not line.startswith("listening"):
            pass
        own = int(line.rsplit(":", 1)[1])
        crowd_pool, other_pool = [], []
        # Both handlers are ready after their first answers.
        await post(crowd_pool, own, "crowd", "warm-1")
        await post(other_pool, own, "others", "warm-2")
        await asyncio.sleep(3)
        counts.update(typing=0, crowd=0)
        slots = asyncio.Semaphore(64)

        async def write(number):
            async with slots:
                await post(crowd_pool, own, "crowd", f"crowd-{number}")

        async def others():
            tasks = []
            start = time.monotonic()
            for number in range(OTHERS):
                await asyncio.sleep(max(0, start + number * PACE - time.monotonic()))
                tasks.append(asyncio.create_task(post(other_pool, own, "others", f"other-{number}")))
            return await asyncio.gather(*tasks)

        begins, *_ = await asyncio.gather(others(), *(write(number) for number in range(CROWD)))
        await asyncio.wait_for(complete.wait(), 60)
        return [(first[f"other-{number}"] - begin) * 1000 for number, begin in enumerate(begins)], counts["typing"]
    finally:
        server.terminate()
        await server.wait()
        gateway.close()


def build():
    words = ["swift", "build", "--configuration", "release", "--product", "balloon", "--static-swift-stdlib"]
    subprocess.run(words, check=True, stdout=sys.stderr)
    return subprocess.run([*words, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip() + "/balloon"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    binary, rounds = options.binary or build(), options.rounds
    rows = {False: [], True: []}
    with tempfile.TemporaryDirectory() as work:
        for number in range(rounds):
            for has_pauses in rows:
                times, typing = asyncio.run(measure(binary, pathlib.Path(work, f"{number}{has_pauses}"), has_pauses))
                assert (typing > 0) == has_pauses, typing
                times.sort()
                rows[has_pauses].append((times[len(times) // 2], times[len(times) * 99 // 100], times[-1], typing))
    print("| 1,000 customers of another business at once | median | p99 | longest | indicators |\n|---|---|---|---|---|")
    for has_pauses, measured in rows.items():
        values = [statistics.median(column) for column in zip(*measured)]
        print(f"| {'with' if has_pauses else 'without'} pauses | {values[0]:.1f} ms | {values[1]:.1f} ms | {values[2]:.1f} ms | {values[3]:.0f} |")


main()
