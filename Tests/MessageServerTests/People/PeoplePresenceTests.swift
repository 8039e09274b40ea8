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

    @Test(arguments: [
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
    func `a damaged file is logged, and every business is open`(_ text: String) throws {
        try AtomicFile.write(Array(text.utf8), to: directory.file("people.json"))
        #expect(opened()[business] == .open)
        #expect(log.lines.count == 1)
    }
}
