import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Queues, and the claim of the next conversation, over the API.
@Suite struct QueueRouteTests {
    private static let base = "/v1/businesses/one/"
    private static let people = {
        var people = PeopleConfiguration(text: "Soon.")
        people.queues = ["general", "returns"].map { QueueConfiguration(id: $0) }
        people.queues[1].persons = ["agent-7"]
        people.queues[1].capacity = 1
        people.queues[1].priority = 5
        people.rules = [QueueRule(queue: "returns", words: ["parcel"])]
        return people
    }()

    /// A server where each customer wrote a text and then asked for a person; returns the paths of the conversations.
    private func server(_ texts: [String]) async throws -> (ServerUnderTest, [String]) {
        let server = try await ServerUnderTest.withAPI {
            $0.businesses[0].people = Self.people
            $0.api.requestsPerMinute = 100_000
        }
        var paths: [String] = []
        for (number, text) in texts.enumerated() {
            let customer = server.customer("urn:mbid:queue-\(number)")
            for body in [text, "help"] {
                _ = try await customer.post(customer.message(.text, text: body))
            }
            let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
            #expect(try await eventually { try await server.api(path).json["queue"] != nil })
            paths.append(path)
        }
        return (server, paths)
    }

    private func next(
        _ server: ServerUnderTest, _ body: String = "{}", _ token: String = TestTokens.agent
    ) async throws -> String? {
        let answer = try await server.api(Self.base + "take-next", token, method: "POST", body: body)
        #expect(answer.status == 200)
        return try answer.json["conversation"]?["id"]?.string.map { Self.base + "conversations/" + $0 }
    }

    @Test func `the next conversation is that of the highest priority for which the person has room`()
        async throws
    {
        let (server, paths) = try await server(["hello", "my parcel", "another parcel", "hi"])
        let waiting = try await server.api(Self.base + "waiting?limit=3").json["waiting"]?.elements
        #expect(
            try #require(waiting).map {
                "\($0["queue"]?["id"]?.string ?? "") \($0["queue"]?["rule"]?.string ?? "")"
            }
                == ["returns 1: word parcel", "returns 1: word parcel", "general default"])
        // Ben is not in the queue returns; the agent may have one conversation of it at a time.
        #expect(try await next(server, #"{"person":{"id":"ben"}}"#, TestTokens.sender) == paths[0])
        #expect(try await next(server) == paths[1])
        #expect(try await next(server) == paths[3])
        #expect(try await next(server) == nil)
        #expect(try await next(server, #"{"queue":"returns"}"#) == nil)
        let queues = try #require(try await server.api(Self.base + "queues").json["queues"]).elements
        #expect(
            queues.map { "\($0["id"]?.string ?? "") \($0["waiting"]?.int ?? 0) \($0["person"]?.int ?? 0)" }
                == ["general 0 2", "returns 1 1"])
        #expect(queues.map { $0["since"] == nil } == [true, false])
        let released = try await server.api(
            paths[1] + "/release", TestTokens.agent, method: "POST",
            body: #"{"to":"waiting","queue":"general","note":"asks for a refund"}"#)
        #expect(released.status == 200)
        #expect(try released.json["queue"]?["rule"]?.string == "transfer")
        let listed = try await server.api(Self.base + "conversations?queue=general&state=waiting").json
        #expect(listed["conversations"]?.elements.count == 1)
        #expect(listed["conversations"]?[0]?["note"]?.string == "asks for a refund")
        #expect(try await next(server) == paths[2])
        #expect(try await next(server) == paths[1])
        await server.stop()
    }

    @Test func `a customer who waits longer than the target of the queue is an event`() async throws {
        let server = try await ServerUnderTest.withAPI {
            $0.businesses[0].people = Self.people
            $0.businesses[0].people?.queues[0].firstAnswerTime = .zero
        }
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        let isFollowed = Mutex(false)
        async let followed = onThread { () -> [EventFollower.Event] in
            let follower = try EventFollower(address, token: TestTokens.all)
            defer { isFollowed.withLock { $0 = true } }
            return try follower.events { $0.name == "conversation.overdue" }
        }
        // Only a follower that has subscribed gets the event of a wait, so several customers wait.
        var number = 0
        let isDone = try await eventually {
            number += 1
            let customer = server.customer("urn:mbid:late-\(number)")
            _ = try await customer.post(customer.message(.text, text: "help"))
            return isFollowed.withLock { $0 }
        }
        #expect(isDone)
        let event = try #require(try await followed.last { $0.name == "conversation.overdue" })
        #expect(event.data["business"]?.string == "one" && event.data["since"]?.string != nil)
        await server.stop()
    }

    @Test func `a person gets a conversation next only when the rules have chosen its queue`() async throws {
        let (server, _) = try await server([])
        for number in 0..<10 {
            let customer = server.customer("urn:mbid:new-\(number)")
            _ = try await customer.post(customer.message(.text, text: "my parcel"))
            _ = try await customer.post(customer.message(.text, text: "help"))
            let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
            #expect(try await eventually { try await server.api(path).json["state"]?.string == "waiting" })
            #expect(try await next(server, #"{"person":{"id":"ben"}}"#, TestTokens.sender) == nil)
            #expect(try await next(server) == path)
            #expect(try await server.api(path + "/close", TestTokens.agent, method: "POST").status == 200)
        }
        await server.stop()
    }

    @Test func `a person who is available gets an offer, declines, transfers and snoozes`() async throws {
        let server = try await ServerUnderTest.withAPI {
            var people = PeopleConfiguration(text: "Soon.")
            people.queues = [QueueConfiguration(id: "general")]
            people.queues[0].acceptTime = .seconds(600)
            $0.businesses[0].people = people
            $0.api.requestsPerMinute = 100_000
        }
        let persons = Self.base + "people/persons"
        func call(
            _ path: String, _ body: String, _ token: String = TestTokens.agent, _ method: String = "POST"
        ) async throws -> TransportResponse { try await server.api(path, token, method: method, body: body) }
        #expect(try await call(persons, "{}", TestTokens.sender, "PUT").problem == "right-missing")
        #expect(
            try await call(persons, #"{"state":"busy"}"#, TestTokens.agent, "PUT").problem == "bad-member")
        #expect(try await call(persons, "{}", TestTokens.agent, "PUT").json["state"]?.string == "gone")
        let report = try await call(persons, #"{"state":"available"}"#, TestTokens.agent, "PUT")
        #expect(try report.json["state"]?.string == "available")
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "help"))
        let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
        func offered() async throws -> String? {
            try await server.api(path).json["offer"]?["person"]?["id"]?.string
        }
        #expect(try await eventually { try await offered() == "agent-7" })
        #expect(try await call(path + "/decline", "", TestTokens.lead).problem == "changed")
        #expect(try await next(server, #"{"person":{"id":"ben"}}"#, TestTokens.sender) == nil)
        #expect(try await call(path + "/decline", "").status == 200)
        #expect(try await offered() == nil)
        #expect(try await next(server) == path)
        #expect(try await server.api(persons).json["persons"]?[0]?["held"]?.int == 1)
        for until in ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "soon"] {
            #expect(try await call(path + "/snooze", #"{"until":"\#(until)"}"#).problem == "bad-member")
        }
        let until = Timestamp.now().advanced(by: .seconds(3600)).rfc3339
        #expect(try await call(path + "/snooze", #"{"until":"\#(until)"}"#, TestTokens.lead).status == 200)
        #expect(try await server.api(path).json["snoozedUntil"]?.string == until)
        _ = try await customer.post(customer.message(.text, text: "hello?"))
        #expect(try await eventually { try await server.api(path).json["snoozedUntil"] == nil })
        #expect(try await call(path + "/snooze", "{}").status == 200)
        let transfer = #"{"to":"waiting","person":{"id":"lead"},"note":"knows you"}"#
        #expect(try await call(path + "/release", transfer).status == 200)
        #expect(try await offered() == "lead")
        #expect(try await next(server) == nil)
        #expect(try await next(server, "{}", TestTokens.lead) == path)
        await server.stop()
    }

    @Test func `a transfer of a conversation that was in no queue stays an offer, in opening time`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI {
            var people = PeopleConfiguration(text: "Soon.")
            people.texts[.closed] = Localized("Tomorrow.")
            people.queues = [QueueConfiguration(id: "general")]
            let always = #"{"zone":"UTC","week":{"mon-sun":["00:00-24:00"]}}"#
            people.queues[0].hours = try? OpeningHoursTests.read(always).hours?.closed(onDayOf: .now())
            $0.businesses[0].people = people
        }
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "hello"))
        let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
        #expect(try await eventually { try await server.api(path).status == 200 })
        for (action, body) in [("claim", "{}"), ("release", #"{"to":"waiting","person":{"id":"lead"}}"#)] {
            let answer = try await server.api(
                path + "/" + action, TestTokens.agent, method: "POST", body: body)
            #expect(answer.status == 200)
        }
        #expect(try await eventually { try await server.api(path).json["queue"]?["rule"] != nil })
        let offer = try await server.api(path).json["offer"]
        #expect(offer?["person"]?["id"]?.string == "lead")
        let until = try #require(offer?["until"]?.string.flatMap { Timestamp(rfc3339: $0) })
        let opened = until.advanced(by: .seconds(-600)).milliseconds
        #expect(opened % 86_400_000 == 0, "the person has ten minutes of opening time")
        await server.stop()
    }

    @Test(arguments: [
        ("release", #"{"to":"waiting","queue":"none"}"#), ("release", #"{"to":"handler","queue":"general"}"#),
        ("take-next", #"{"queue":"none"}"#), ("take-next", #"{"queue":1}"#), ("take-next", "{}"),
    ])
    func `an unknown queue, and a claim for nobody, are refused`(action: String, body: String) async throws {
        let (server, paths) = try await server(["hello"])
        let path = action == "release" ? paths[0] + "/release" : Self.base + action
        let answer = try await server.api(path, TestTokens.sender, method: "POST", body: body)
        #expect(answer.status == 400 && answer.problem == "bad-member")
        #expect(try await server.api(paths[0]).json["state"]?.string == "waiting")
        await server.stop()
    }

    @Test func `without queues the next conversation is the one that waits longest`() async throws {
        let server = try await ServerUnderTest.withAPI {
            $0.businesses[0].people = PeopleConfiguration(text: "Soon.")
        }
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "help"))
        let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
        #expect(try await eventually { try await server.api(path).json["state"]?.string == "waiting" })
        #expect(try await server.api(path).json["queue"] == nil)
        #expect(try await server.api(Self.base + "queues").json["queues"]?.count == 0)
        #expect(try await server.api(Self.base + "waiting").json["waiting"]?.count == 1)
        #expect(try await next(server) == path)
        #expect(try await next(server) == nil)
        await server.stop()
    }
}
