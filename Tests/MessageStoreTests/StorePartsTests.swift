import BalloonJSON
import BusinessMessages
import Testing

@testable import MessageStore

struct ConversationStorePartsTests {
    @Test(
        arguments: [
            (1, "000000000001.jsonl"), (999_999_999_999, "999999999999.jsonl"),
            (1_000_000_000_000, "1000000000000.jsonl"),
        ] as [(UInt64, String)])
    func `a segment is named by its first record`(record: UInt64, name: String) {
        #expect(SegmentName.text(firstRecord: record) == name)
        #expect(SegmentName.firstRecord(name) == record)
    }

    @Test(arguments: [
        "1.jsonl", "00000000001.jsonl", "000000000001.json", "00000000000a.jsonl",
        "000000000001.jsonl.damaged",
        "000000000001.jsonl.12.new", ".jsonl", "99999999999999999999999.jsonl",
    ])
    func `a file with another name is not listed as a segment`(name: String) {
        #expect(SegmentName.firstRecord(name) == nil)
    }

    @Test func `conversation keys compare bytes, even when their texts are canonically equivalent`() {
        func key(_ customer: String) -> ConversationKey {
            ConversationKey(business: BusinessID("b"), customer: CustomerID(customer))
        }
        #expect(key("a") == key("a"))
        #expect(key("\u{E9}") == key("\u{E9}"))
        #expect(key("\u{E9}") != key("e\u{301}"))
        // The same characters and the same length, in another order.
        #expect(key("a\u{323}\u{307}") != key("a\u{307}\u{323}"))
        #expect(key(";") != key("\u{37E}"))
        #expect(key("a") != ConversationKey(business: BusinessID("c"), customer: CustomerID("a")))
    }

    @Test func `only a complete journal line with a correct checksum is parsed`() {
        var lines: [UInt8] = []
        JournalLine.write(body: Array(#"{"type":"x"}"#.utf8), record: 12, batch: 11, onto: &lines)
        #expect(
            String(decoding: lines.dropLast(11), as: UTF8.self)
                == #"{"record":12,"batch":11,"type":"x","crc32":""#)
        let line = lines.dropLast()
        #expect(JournalLine.isIntact(line))
        #expect(JournalLine.header(of: line).map { [$0.record, $0.batch] } == [12, 11])
        for position in line.indices {
            var damaged = line
            damaged[position] ^= 0x20
            #expect(!JournalLine.isIntact(damaged))
        }
        for count in 0..<line.count { #expect(!JournalLine.isIntact(line.prefix(count))) }
        for text in [
            #"{"record":1,"batch":2,"type":"#, #"{"record":,"batch":1,"type":""#, #"{"batch":1"#, "",
        ] {
            #expect(JournalLine.header(of: Array(text.utf8)[...]) == nil)
        }
    }

    @Test(arguments: [
        messageMembers("m"), messageMembers("m") + #","new":true"#, messageMembers(#"m\"x"#),
        messageMembers("\u{E9}"),
        #""type":"message","at":"2026-11-21T10:00:00.123Z","business":"b","customer":"c","id":"m","replayOf":7,"#
            + #""attributes":{"locale":"a,}","group":"\#u{1F600}"},"reference":true,"message":{"id":"other"}"#,
        #""type":"message","at":"2026-11-21T10:00:00.123Z","business":"b","customer":"c","id":"m","outbound":"text","message":{}"#,
        #""type":"message","at":"no time","business":"b","customer":"c","id":"m","message":{}"#,
        #""type":"message","id":"m","message":{}"#, #""type":"messages","of":1"#,
        #""type":"finished","of":12,"kind":"text","result":"handled","at":"2026-11-21T10:00:00.123Z""#,
        #""type":"finished","of":12,"result":"failed","reason":"a \"reason\"","at":"2026-11-21T10:00:00.123Z""#,
        #""type":"finished","of":12,"result":"repeated","original":"m","at":"2026-11-21T10:00:00.123Z""#,
        #""type":"finished","of":12,"kind":"later","result":"later","at":"2026-11-21T10:00:00.123Z""#,
        #""type":"finished","of":"x","result":"handled""#, #""type":"finished""#,
        #""type":"attempt","of":3,"attempt":2,"parked":true,"next":"2026-11-21T10:00:00.123Z""#,
    ])
    func `a record that is scanned equals the same record parsed as JSON`(members: String) throws {
        let line = journalLine(12, batch: 11, members).dropLast()
        let root = try JSONDocument(Array(line)).root
        let expected = JournalRecord.read(root) ?? .other(in: nil)
        let header = try #require(JournalLine.header(of: line))
        let record = try #require(JournalRecord(line, header))
        #expect("\(record)" == "\(expected)")
    }
}
