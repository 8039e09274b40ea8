import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageServer

@Suite struct PeoplePresenceTests {
    private let directory = TemporaryDirectory()
    private let log = LogCollector()
    private let business = BusinessID("b")

    private func opened() -> PeoplePresence {
        PeoplePresence(dataDirectory: directory.path, logger: log.logger)
    }

    @Test func `a closed business stays closed in the next process, until it opens`() async throws {
        let closed = try #require(Presence(isOpen: false, text: "Back at 9."))
        let first = opened()
        #expect(first[business] == .open)
        try await first.change(business, to: closed)
        #expect(first[business].closedText == "Back at 9.")
        let second = opened()
        #expect(second[business] == closed)
        #expect(second[BusinessID("other")] == .open)
        try await second.change(business, to: .open)
        #expect(opened()[business] == .open)
        #expect(log.lines.isEmpty)
    }

    @Test func `a close until a time ends by itself, and each close stays no opening time`() async throws {
        let (start, first) = (Timestamp(milliseconds: 1_800_000_000_000), opened())
        let end = start.advanced(by: .seconds(60))
        try await first.change(
            business, to: try #require(Presence(isOpen: false, text: "Back soon.", until: end)), at: start)
        for presence in [first, opened()] {
            #expect(presence.presence(of: business, at: start).closedText == "Back soon.")
            #expect(presence.presence(of: business, at: end) == .open)
            #expect(presence.closings(of: business) == [start..<end])
        }
        let early = start.advanced(by: .seconds(30))
        try await first.change(business, to: .open, at: early)
        try await first.change(
            business, to: try #require(Presence(isOpen: false, text: "Back.")), at: end)
        #expect(opened().closings(of: business) == [start..<early, end..<Timestamp.never])
        // After two months no wait can have begun before.
        try await first.change(business, to: .open, at: end.advanced(by: .seconds(10)))
        try await first.change(business, to: .open, at: end.advanced(by: .seconds(61 * 86_400)))
        #expect(opened().closings(of: business).isEmpty)
    }

    @Test func `a close in a file of an older version has no known beginning`() throws {
        let text = #"{"format":1,"businesses":{"b":{"open":false,"text":"Back at 9."}}}"#
        try AtomicFile.write(Array(text.utf8), to: directory.file("people.json"))
        #expect(opened().closings(of: business) == [Timestamp(milliseconds: 0)..<Timestamp.never])
    }

    @Test(arguments: [
        (#"{"open":false,"text":"Back at 9.","until":"2026-12-01T09:00:00Z"}"#, true),
        (#"{"open":false,"text":"Back at 9.","until":9}"#, false),
        (#"{"open":true,"until":"2026-12-01T09:00:00Z"}"#, false),
        (#"{"open":false,"text":"Back at 9."}"#, true), (#"{"open":true}"#, true),
        (#"{"open":true,"text":null}"#, true), (#"{"open":false}"#, false), ("{}", false), ("[]", false),
        (#"{"open":false,"text":" "}"#, false), (#"{"open":false,"text":1}"#, false),
        (#"{"open":"no"}"#, false),
        (#"{"open":false,"text":"\#(String(repeating: "x", count: 2000))"}"#, true),
        (#"{"open":false,"text":"\#(String(repeating: "x", count: 2001))"}"#, false),
    ])
    func `a presence that says that nobody is there needs a text`(_ json: String, _ isValid: Bool) throws {
        #expect((Presence(try JSONDocument(Array(json.utf8)).root) != nil) == isValid)
    }

    @Test(arguments: ["", "{", #"{"format":2,"businesses":{}}"#, #"{"format":1,"businesses":{"b":{}}}"#])
    func `a damaged file is logged and never replaced, and every business is open`(_ text: String)
        async throws
    {
        let file = directory.file("people.json")
        try AtomicFile.write(Array(text.utf8), to: file)
        let presence = opened()
        #expect(presence[business] == .open)
        #expect(log.lines.count == 1)
        let closed = try #require(Presence(isOpen: false, text: "Back at 9."))
        await #expect(throws: PeoplePresence.Unreadable.self) {
            try await presence.change(business, to: closed)
        }
        #expect(presence[business] == .open)
        #expect(try File(file, for: .reading).readAll() == Array(text.utf8))
    }
}
