#!/usr/bin/env python3
"""Writes a data directory as the store leaves it: `million.py DATA MESSAGES UNFINISHED BYTES conversations|journal`.

With `journal`, MESSAGES messages of about BYTES bytes, each with its end but the last UNFINISHED; with `conversations`,
as many conversations of one line each and an empty journal.
"""
import hashlib
import json
import os
import sys
import zlib

data, count, unfinished, size, what = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
business = "5a6b7c8d-0000-4000-8000-000000000001"
at = __import__("datetime").datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%S.000Z")
os.makedirs(data + "/journal", 0o700)
os.makedirs(data + "/conversations", 0o700)
open(data + "/VERSION", "w").write("1\n")


def customer(number):
    return "urn:mbid:" + hashlib.md5(b"%d" % number).hexdigest()


def message(number):
    head = {"v": 1, "type": "text", "id": "m-%08d" % number, "sourceId": customer(number), "destinationId": business}
    return json.dumps({**head, "body": "x" * max(0, size - 220)}, separators=(",", ":"))


class Journal:
    def __init__(self):
        self.record, self.batch, self.file, self.written = 1, 1, None, 0

    def line(self, members):
        text = ('{"record":%d,"batch":%d,%s' % (self.record, self.batch, members)).encode()
        self.record += 1
        return b'%s,"crc32":"%08x"}\n' % (text, zlib.crc32(text))

    def write(self, entries):
        """One batch; returns the number of its first entry."""
        self.batch, lines = self.record, []
        if self.file is None:
            self.file, self.written = open("%s/journal/%012d.jsonl" % (data, self.record), "wb", 1 << 20), 0
            lines.append(self.line('"type":"segment","format":1,"at":"%s"' % at))
        first = self.record
        lines += [self.line(entry) for entry in entries]
        text = b"".join(lines)
        self.file.write(text)
        self.written += len(text)
        if self.written >= 64 << 20:
            self.file.close()
            self.file = None
        return first


if what == "journal":
    journal, step = Journal(), 50
    for start in range(0, count, step):
        numbers = range(start, min(count, start + step))
        first = journal.write(
            '"type":"message","at":"%s","business":"%s","customer":"%s","id":"m-%08d","message":%s'
            % (at, business, customer(number), number, message(number)) for number in numbers)
        journal.write(
            '"type":"finished","of":%d,"kind":"text","result":"unhandled","at":"%s"' % (first + number - start, at)
            for number in numbers if number < count - unfinished)
        if start % 20000 == 0:
            journal.write(['"type":"checkpoint","through":%d,"at":"%s"' % (journal.record - 1, at)])
    journal.write(['"type":"checkpoint","through":%d,"at":"%s"' % (journal.record - 1, at)])
else:
    folder = "%s/conversations/%s" % (data, business)
    for number in range(256):
        os.makedirs("%s/%02x" % (folder, number))
    for number in range(count):
        name = hashlib.sha256(customer(number).encode()).hexdigest()
        with open("%s/%s/%s.jsonl" % (folder, name[:2], name), "w") as file:
            file.write(
                '{"seq":1,"at":"%s","direction":"inbound","id":"m-%08d","kind":"text","customer":"%s","record":1,'
                '"message":%s}\n' % (at, number, customer(number), message(number)))
