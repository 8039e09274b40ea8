import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// Pages of a conversation's file, whose lines are longer and shorter than one piece of reading.
@Suite struct ConversationPagesTests {
    private static let business = BusinessID("b-1")
    private static let customer = CustomerID("urn:mbid:c")
    private let directory = TemporaryDirectory()

    /// Writes a conversation of `count` lines, and an unfinished one after them.
    private func write(_ count: Int, lineBytes: (Int) -> Int, end: String = "{\"seq\":") throws {
        let name = ConversationFiles.name(of: Self.customer)
        let folder = directory.file("conversations/b-1/\(name.prefix(2))")
        try Directory.make(folder)
        var text = ""
        for number in 0..<count {
            let body = String(
                decoding: [UInt8](repeating: UInt8(ascii: "x"), count: lineBytes(number)), as: UTF8.self)
            text +=
                #"{"seq":\#(number + 1),"at":"2026-11-22T20:00:00.000Z","direction":"inbound","id":"m-\#(number + 1)","#
            text +=
                #""kind":"text","customer":"urn:mbid:c","record":\#(number + 1),"message":{"body":"\#(body)"}}"#
            text += "\n"
        }
        try AtomicFile.write(Array((text + end).utf8), to: "\(folder)/\(name).jsonl")
    }

    private func page(
        _ place: ConversationFiles.PagePlace, maximum: Int, maximumBytes: Int = .max
    ) throws -> ConversationFiles.Page {
        let files = ConversationFiles(dataDirectory: directory.path)
        let found = try files.page(
            of: Self.business, named: ConversationFiles.name(of: Self.customer), place, maximum: maximum,
            maximumBytes: maximumBytes)
        return try #require(found)
    }

    private func numbers(_ page: ConversationFiles.Page) -> [Int] {
        page.lines.compactMap { ConversationLine($0)?.sequence }
    }

    @Test(arguments: [0, 10, 4000, 4096, 20_000])
    func `every line is the first of the page after its predecessor and the last before its successor`(
        maximumBytes: Int
    ) throws {
        let count = 60
        try write(count) { ($0 * 7919) % (maximumBytes + 1) }
        for number in 0...count + 1 {
            let after = try page(.after(number), maximum: 3)
            #expect(numbers(after) == Array((number + 1)..<max(number + 1, min(number + 4, count + 1))))
            #expect(after.hasLater == (number + 3 < count))
            let before = try page(.before(number), maximum: 3)
            #expect(
                numbers(before) == Array(max(1, min(number, count + 1) - 3)..<max(1, min(number, count + 1))))
            #expect(before.hasEarlier == (min(number, count + 1) > 4))
        }
        #expect(try numbers(page(.latest, maximum: 2)) == [count - 1, count])
        #expect(try page(.latest, maximum: 2).hasLater == false)
    }

    @Test func `a page has at most so many bytes, and at least one line`() throws {
        try write(10) { _ in 10_000 }
        #expect(try numbers(page(.latest, maximum: 10, maximumBytes: 25_000)) == [9, 10])
        #expect(try numbers(page(.after(2), maximum: 10, maximumBytes: 25_000)) == [3, 4])
        #expect(try numbers(page(.latest, maximum: 10, maximumBytes: 1)) == [10])
        #expect(try numbers(page(.after(0), maximum: 10, maximumBytes: 1)) == [1])
    }

    @Test func `a file without a complete line has empty pages`() throws {
        try write(0) { $0 }
        for place in [ConversationFiles.PagePlace.latest, .before(5), .after(0)] {
            #expect(try page(place, maximum: 5).lines.isEmpty)
        }
    }

    @Test func `a message is found in a long conversation, from its end`() throws {
        try write(500) { $0 % 50 * 100 }
        let files = ConversationFiles(dataDirectory: directory.path)
        let name = ConversationFiles.name(of: Self.customer)
        for number in [1, 250, 500] {
            let found = try files.message(MessageID("m-\(number)"), of: Self.business, named: name)
            #expect(found?.line.sequence == number)
        }
        #expect(try files.message(MessageID("m-501"), of: Self.business, named: name) == nil)
    }

    @Test func `a message with escaped characters in its id is found as the store writes it`() async throws {
        let store = StoreDirectory()
        let opened = try store.open()
        let id = MessageID("a\"b/c\\d é")
        let message = ReceivedMessage(
            business: Self.business, customer: Self.customer, id: id, message: Array("{}".utf8),
            hasPayloadReference: false)
        #expect(await opened.append(message) == .stored)
        await opened.scheduler.finishRecordings()
        let files = ConversationFiles(dataDirectory: store.path)
        let name = ConversationFiles.name(of: Self.customer)
        #expect(try files.message(id, of: Self.business, named: name)?.line.id == id)
        await opened.close()
    }

    @Test func `a search for an id that does not exist ends after the last 64 MiB`() throws {
        try write(70) { _ in 1 << 20 }
        let files = ConversationFiles(dataDirectory: directory.path)
        let name = ConversationFiles.name(of: Self.customer)
        #expect(throws: ConversationFiles.UnfinishedSearch.self) {
            try files.message(MessageID("m-1"), of: Self.business, named: name)
        }
    }

    @Test(arguments: [
        "", "../../VERSION", "..", String(repeating: "A", count: 64), String(repeating: "b", count: 64),
    ])
    func `a name that is no conversation has no page`(name: String) throws {
        try write(1) { _ in 1 }
        let files = ConversationFiles(dataDirectory: directory.path)
        #expect(try files.page(of: Self.business, named: name, .latest, maximum: 1, maximumBytes: 1) == nil)
    }
}
