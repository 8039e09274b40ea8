import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import TestSupport
import Testing

struct JournalFormatTests {
    let directory = StoreDirectory()

    @Test
    func `every journal line is an object with record, batch, type and a checksum of the bytes before it`()
        async throws
    {
        let store = try directory.open()
        for number in 1...5 { _ = await store.append(message("m\(number)")) }
        await store.close()
        #expect(try directory.segments() == ["000000000001.jsonl"])
        var expected = 1
        for line in try directory.lines("000000000001.jsonl") {
            let root = try JSONDocument(line).root
            let names = root.members.map(\.key)
            #expect(Array(names.prefix(3)) == ["record", "batch", "type"])
            #expect(names.last == "crc32")
            #expect(root["record"]?.int == expected)
            let tail = 20
            let digits = String(CRC32.checksum(of: line.dropLast(tail)), radix: 16)
            let checksum = String(repeating: "0", count: 8 - digits.count) + digits
            #expect(line.suffix(tail) == Array(",\"crc32\":\"\(checksum)\"}".utf8)[...])
            expected += 1
        }
    }

    @Test
    func `a message is kept verbatim with its attributes, and line breaks between tokens become spaces`()
        async throws
    {
        let store = try directory.open()
        let text = "{\r\n \"id\" : \"m\\n1\",\n\t\"big\":1.50e3, \"ü\":\"\u{2028}\"}"
        let received = ReceivedMessage(
            business: BusinessID("a\"b"), customer: CustomerID("urn:mbid:+/="), id: MessageID("m\u{1}"),
            attributes: ReceivedAttributes(
                capabilityList: "quick%2CLIST", locale: "de_DE", intent: "in", group: "g", version: "1",
                deviceAgent: "iPhone OS"),
            message: Array(text.utf8), hasPayloadReference: true,
            receivedAt: Timestamp(milliseconds: 1_795_255_200_123))
        #expect(await store.append(received) == .stored)
        let record = try #require(directory.records("message").first)
        #expect(record["at"]?.string == "2026-11-21T10:00:00.123Z")
        #expect(record["business"]?.string == "a\"b")
        #expect(record["customer"]?.string == "urn:mbid:+/=")
        #expect(record["id"]?.string == "m\u{1}")
        #expect(
            String(decoding: record["attributes"]?.text ?? [], as: UTF8.self)
                == #"{"capabilityList":"quick%2CLIST","locale":"de_DE","intent":"in","group":"g","version":"1","deviceAgent":"iPhone OS"}"#
        )
        #expect(record["reference"]?.bool == true)
        let kept = text.replacing("\r\n", with: "  ").replacing("\n", with: " ")
        #expect(String(decoding: record["message"]?.text ?? [], as: UTF8.self) == kept)
    }

    @Test func `the first line of a segment contains the format number and the time`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        let first = try #require(directory.records().first)
        #expect(first["type"]?.string == "segment")
        #expect(first["format"]?.int == 1)
        #expect(Timestamp(rfc3339: first["at"]?.string ?? "") != nil)
    }

    @Test
    func
        `records that arrive during a sync are written with the next, and a batch has the number of its first record`()
        async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        _ = await store.append(message("m1"))
        disk.hold()
        // Either the first message is being synced, or all of them wait; the others are then written together.
        let results = await withTaskGroup { group in
            for number in 2...40 { group.addTask { await store.append(message("m\(number)")) } }
            group.addTask {
                #expect(await eventually { store.statistics.indexedMessages >= 40 })
                disk.release()
                return .stored
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0 == .stored })
        #expect((2...3).contains(disk.count))
        var batch = 0
        for record in try directory.records() {
            let number = try #require(record["batch"]?.int)
            #expect(number == batch || number == record["record"]?.int)
            batch = number
        }
    }

    @Test func `a new segment begins when the last one is full, and when the store is opened`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 600 }
        for number in 1...4 { _ = await store.append(message("m\(number)")) }
        await store.close()
        let reopened = try directory.open()
        _ = await reopened.append(message("m5"))
        let records = try directory.records()
        #expect(records.compactMap { $0["record"]?.int } == Array(1...records.count))
        let names = try directory.segments()
        #expect(names.count > 2)
        for name in names {
            let first = try JSONDocument(directory.lines(name)[0]).root
            #expect(first["type"]?.string == "segment")
            #expect(
                name == String(repeating: "0", count: 11) + "\(first["record"]?.int ?? 0).jsonl"
                    || name == String(repeating: "0", count: 10) + "\(first["record"]?.int ?? 0).jsonl")
        }
        #expect(reopened.statistics.pendingDeliveries == 5)
        for number in 1...5 {
            let delivery = try await reopened.lease()
            #expect(delivery.id == MessageID("m\(number)"))
            try await reopened.finish(delivery, result: .handled)
        }
    }

    @Test func `only the owner can access the store's files and folders`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        _ = try await store.lease()
        await store.close()
        #expect(try mode(directory.path) == 0o700)
        #expect(try mode(directory.journal) == 0o700)
        #expect(try mode(directory.path + "/conversations") == 0o700)
        #expect(try mode(directory.path + "/VERSION") == 0o600)
        #expect(try mode(directory.journal + "/000000000001.jsonl") == 0o600)
    }
}
