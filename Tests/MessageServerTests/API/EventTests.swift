import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// `GET /v1/events` of a whole server.
@Suite struct EventTests {
    private func page(
        _ server: ServerUnderTest, _ query: String, _ token: String = TestTokens.all, wait: Int = 25
    ) async throws -> TransportResponse {
        try await server.api(
            "/v1/events" + query, token,
            headers: [("Accept", "application/json"), ("Prefer", "wait=\(wait)")])
    }

    /// The events after a place, read until `count` events have this type; a repeated event is left out.
    private func events(
        _ server: ServerUnderTest, after start: String = "0", until name: String, count: Int = 1
    ) async throws -> [JSONValue] {
        var all: [JSONValue] = []
        var keys: Set<String> = []
        var after = start
        while all.count(where: { $0["type"]?.string == name }) < count {
            let json = try await page(server, "?after=\(after)").json
            let events = json["events"]?.elements.map { $0 } ?? []
            // A page without events: none came during the wait.
            if events.isEmpty { break }
            all += events.filter { $0["key"]?.string.map { keys.insert($0).inserted } ?? true }
            after = json["after"]?.string ?? ""
        }
        return all
    }

    private func text(_ server: ServerUnderTest, _ customer: SimulatedCustomer, _ body: String) async throws {
        let message = customer.message(.text, text: body)
        #expect(try await customer.post(message).status == 200)
    }

    @Test func `a message and its reply are events with the lines of the conversation's file`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        try await text(server, customer, "Hello")
        let events = try await events(server, until: "message.accepted")
        #expect(
            events.map { $0["type"]?.string } == ["message.received", "message.queued", "message.accepted"])
        #expect(Set(events.map { $0["key"]?.string }).count == 3)
        #expect(events.allSatisfy { $0["business"]?.string == "one" && $0["at"]?.string != nil })
        #expect(Set(events.map { $0["conversation"]?.string }).count == 1)
        #expect(events.map { $0["kind"]?.string } == ["text", "text", "text"])
        #expect(events.map { $0["seq"]?.int } == [1, nil, 2])
        let name = try #require(events[0]["conversation"]?.string)
        let file = server.directory.file(
            "data/conversations/\(customer.business.rawValue)/\(name.prefix(2))/\(name).jsonl")
        let lines = try File(file, for: .reading).readAll().split(separator: UInt8(ascii: "\n"))
        #expect(Array(events[0]["line"]?.text ?? []) == Array(lines[0]))
        #expect(Array(events[2]["line"]?.text ?? []) == Array(lines[1]))
        #expect(events[1]["message"]?.string == events[2]["message"]?.string)
        await server.stop(secrets: ["Hello"])
    }

    @Test func `a stream sends events as they happen, and resumes after its last id`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        async let followed = onThread { () -> (String?, [EventFollower.Event], String?) in
            let follower = try EventFollower(address, token: TestTokens.all, lastID: "0")
            let events = try follower.events { $0.name == "message.accepted" }
            return (follower.header, events, follower.lastID)
        }
        try await text(server, customer, "one")
        let (header, first, last) = try await followed
        #expect(header?.contains("Content-Type: text/event-stream\r\n") == true)
        #expect(header?.contains("X-Accel-Buffering: no\r\n") == true)
        #expect(header?.contains("Cache-Control: no-store\r\n") == true)
        #expect(first.map(\.name) == ["message.received", "message.queued", "message.accepted"])
        async let resumed = onThread {
            try EventFollower(address, token: TestTokens.all, lastID: last)
                .events { $0.name == "message.accepted" }
        }
        try await text(server, customer, "two")
        // An event that was sent before its place was reached is repeated, with the same key.
        let repeated = Set(first.map(\.key))
        let second = try await resumed.filter { !repeated.contains($0.key) }
        #expect(second.map(\.name) == ["message.received", "message.queued", "message.accepted"])
        #expect(second.compactMap { $0.data["seq"]?.int } == [3, 4])
        await server.stop()
    }

    @Test func `a token gets only events of its businesses, and a filter only events that it names`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        try await text(server, server.customer(), "one")
        try await text(server, server.customer(to: ServerUnderTest.otherBusiness), "two")
        _ = try await events(server, until: "message.accepted", count: 2)
        let own = try await page(server, "?after=0", TestTokens.operatorOfOne).json["events"]?.elements
        #expect(own.map { Set($0.map { $0["business"]?.string }) } == ["one"])
        let queued = try await page(
            server, "?after=0&type=message.queued&type=message.failed&business=two")
        #expect(
            try queued.json["events"]?.elements.map { $0["type"]?.string } == ["message.queued"])
        let other = try await page(server, "?business=two", TestTokens.operatorOfOne)
        let unknown = try await page(server, "?business=three", TestTokens.operatorOfOne)
        #expect(other.status == 404 && unknown.status == 404 && other.problem == "not-found")
        #expect(try await page(server, "?type=message.seen").status == 400)
        #expect(try await page(server, "", TestTokens.sender).status == 403)
        let html = try await server.api("/v1/events", headers: [("Accept", "text/html")])
        #expect(html.status == 406 && html.problem == "not-acceptable")
        for (weight, status) in [("q=0", 406), ("q=0.0", 406), ("q=0.000", 406), ("q=0.5", 200)] {
            let answer = try await server.api(
                "/v1/events", headers: [("Accept", "application/json;\(weight)")])
            #expect(answer.status == status, "\(weight)")
        }
        await server.stop()
    }

    @Test func `a place that the journal never had leads to a reset, and a page without events waits`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        for after in ["999999", "yesterday"] {
            let json = try await page(server, "?after=\(after)", wait: 0).json
            #expect(json["events"]?.elements.map { $0["type"]?.string } == ["stream.reset"])
        }
        let empty = try await page(server, "", wait: 0).json
        #expect(empty["events"]?.elements.contains { _ in true } == false)
        let after = try #require(empty["after"]?.string)
        async let next = page(server, "?after=\(after)")
        try await text(server, server.customer(), "one")
        #expect(try await next.json["events"]?.elements.contains { _ in true } == true)
        await server.stop()
    }

    @Test func `a removed token ends its stream, and a stop ends all of them at once`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        async let removed = onThread {
            try EventFollower(address, token: TestTokens.reader).isEnded()
        }
        async let stopped = onThread { try EventFollower(address, token: TestTokens.all).isEnded() }
        // Both followers are connected when both have received the head.
        #expect(await eventually { server.leftover.connections >= 2 })
        var configuration = server.configuration
        configuration.api.tokens.removeAll { $0.name == "reader" }
        let reloaded = configuration
        await server.reload { () throws(ConfigurationError) in reloaded }
        #expect(try await removed)
        let begin = ContinuousClock.now
        await server.stop(within: .seconds(60))
        #expect(try await stopped)
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    @Test func `a stop ends 1,000 streams at once`() async throws {
        let server = try await ServerUnderTest.withAPI { $0.api.requestsPerMinute = 100_000 }
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        let followers = Followers()
        try await onThread {
            for _ in 0..<1000 {
                let follower = try EventFollower(address, token: TestTokens.all)
                // The stream has begun when its header arrives.
                while follower.header == nil, try follower.next() != nil {}
                followers.all.append(follower)
            }
        }
        let begin = ContinuousClock.now
        await server.stop(within: .seconds(60))
        let duration = ContinuousClock.now - begin
        print("a stop with 1,000 streams took \(duration)")
        // A stop takes less than two seconds on an idle machine; a busy one takes longer.
        #expect(duration < .seconds(20))
        let ended = try await onThread {
            followers.all.count { $0.isEnded() }
        }
        #expect(ended == 1000)
    }

    @Test func `a follower that never reads does not delay another`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        let silent = try EventFollower(address, token: TestTokens.all, lastID: "0")
        async let followed = onThread { () -> [EventFollower.Event] in
            var all: [EventFollower.Event] = []
            var keys: Set<String?> = []
            var lastID: String? = "0"
            // The server disconnects a follower with more than 64 KiB unread, which happens to this one on a busy
            // machine. As a client must, it then resumes after its last event, and ignores events that it has seen.
            for _ in 0..<200 where keys.count < 200 {
                let follower = try EventFollower(address, token: TestTokens.all, lastID: lastID)
                all += try follower.events {
                    if $0.name == "message.received" { keys.insert($0.key) }
                    return keys.count == 200
                }
                lastID = follower.lastID
            }
            return all
        }
        let body = String(repeating: "x", count: 8192)
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<50 { try await text(server, customer, body) } }
            }
            try await group.waitForAll()
        }
        let received = try await followed.filter { $0.name == "message.received" }
        #expect(Set(received.compactMap(\.key)).count == 200)
        #expect(
            received.compactMap { $0.data["line"]?["message"]?["body"]?.string }.allSatisfy { $0 == body })
        withExtendedLifetime(silent) {}
        await server.stop()
    }

    @Test func `a message of more than 32 KiB is an event without its line`() async throws {
        let server = try await ServerUnderTest.withAPI()
        try await text(server, server.customer(), String(repeating: "x", count: 40_000))
        let events = try await events(server, until: "message.accepted")
        #expect(events.first?["truncated"]?.bool == true && events.first?["line"] == nil)
        #expect(events.first?["seq"]?.int == 1)
        await server.stop()
    }

    @Test func `a refused reply is a failed message and a dead letter`() async throws {
        let server = try await ServerUnderTest.withAPI()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        try await text(server, server.customer(), "one")
        let events = try await events(server, until: "reply.deadLetter")
        let failed = try #require(events.first { $0["type"]?.string == "message.failed" })
        #expect(failed["outcome"]?.string == "refused" && failed["status"]?.int == 400)
        #expect(failed["line"]?["outcome"]?.string == "refused")
        let letter = try #require(events.last)
        #expect(letter["seq"]?.int == failed["seq"]?.int && letter["line"] == nil)
        await server.stop()
    }

    @Test func `a page that waits is refused when a reload removes its token`() async throws {
        let server = try await ServerUnderTest.withAPI()
        async let waiting = page(server, "", TestTokens.reader, wait: 50)
        #expect(await eventually { server.leftover.connections >= 1 })
        var configuration = server.configuration
        configuration.api.tokens.removeAll { $0.name == "reader" }
        let reloaded = configuration
        // If the page begins to wait after the reload, it is refused at once.
        await server.reload { () throws(ConfigurationError) in reloaded }
        let answer = try await waiting
        #expect(answer.status == 401 && answer.problem == "unauthenticated")
        await server.stop()
    }

    @Test func `a customer's typing is an event without an id`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        async let followed = onThread { () -> [EventFollower.Event] in
            let path = "/v1/events?type=typing"
            var seen = 0
            return try EventFollower(address, path: path, token: TestTokens.reader).events { _ in
                seen += 1
                return seen == 2
            }
        }
        // Several messages are sent, because the follower may subscribe after the first of them.
        let posting = Task {
            while !Task.isCancelled {
                for kind in [Kind.typingStart, .typingEnd] {
                    _ = try await customer.post(customer.message(kind))
                }
            }
        }
        let events = try await followed.prefix(2)
        posting.cancel()
        #expect(Set(events.map { $0.data["typing"]?.bool }) == [true, false])
        #expect(events.allSatisfy { $0.id == nil && $0.key == nil })
        #expect(events.allSatisfy { $0.data["direction"]?.string == "inbound" })
        #expect(events.allSatisfy { $0.data["business"]?.string == "one" })
        await server.stop()
    }

    @Test func `a change of a handler's health is an event without an id`() async throws {
        let handler = FlappingHandler()
        let server = try await ServerUnderTest.withAPI(handler)
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        let events = try await onThread {
            try EventFollower(address, path: "/v1/events?type=handler.health", token: TestTokens.reader)
                .events { _ in true }
        }
        let event = try #require(events.first)
        #expect(event.name == "handler.health" && event.id == nil && event.key == nil)
        #expect(["ready", "starting", "restarting"].contains(event.data["health"]?.string))
        #expect(["one", "two"].contains(event.data["business"]?.string))
        await server.stop()
    }
}

/// A handler whose health changes each time it is asked, for each of two businesses.
private final class FlappingHandler: EventHandler {
    private let reports = Atomic(0)

    var subscriptions: Set<Subscription> { [] }
    var maximumInFlight: Int? { nil }
    var downSince: ContinuousClock.Instant? { nil }
    var report: HandlerReport {
        get async {
            let count = reports.add(1, ordering: .relaxed).oldValue
            return HandlerReport(health: [.starting, .ready, .restarting][count % 3])
        }
    }
    func waitUntilReady() async -> Bool { true }
    func stopWaiting() {}
    func handle(_ context: Context) async throws -> Outcome { .handled }
    func restart() async {}
}

/// Followers that one thread opens, and another closes after it.
private final class Followers: @unchecked Sendable {
    var all: [EventFollower] = []
}
