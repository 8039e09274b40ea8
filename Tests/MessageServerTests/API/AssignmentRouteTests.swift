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

/// Claims, releases and closes, the presence of people, and typing, over the API.
@Suite struct AssignmentRouteTests {
    private static let base = "/v1/businesses/one/"
    private static let secrets = ["agent-7", "Ana Secret", "a private note", "Back at nine"]
    private static let ana = #"{"person":{"id":"agent-7","name":"Ana Secret"}}"#
    private static let ben = #"{"person":{"id":"ben"}}"#

    /// A server with a conversation of one answered message, and the conversation's path.
    private func server(
        people: PeopleConfiguration? = PeopleConfiguration(text: "A colleague answers soon.")
    ) async throws -> (ServerUnderTest, SimulatedCustomer, String) {
        let server = try await ServerUnderTest.withAPI {
            $0.businesses[0].people = people
            $0.api.requestsPerMinute = 100_000
        }
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "Hello"))
        _ = await server.gateway.waitForMessages(count: 1, customer: customer.id)
        let path = Self.base + "conversations/" + ConversationFiles.name(of: customer.id)
        #expect(try await eventually { try await server.api(path).json["lines"]?.int == 2 })
        return (server, customer, path)
    }

    private func post(
        _ server: ServerUnderTest, _ path: String, _ body: String, ifMatch: String? = nil,
        token: String = TestTokens.sender
    ) async throws -> TransportResponse {
        try await server.api(
            path, token, method: "POST", body: body,
            headers: ifMatch.map { [(name: "If-Match", value: $0)] } ?? [])
    }

    @Test func `a claim, a release and a close answer as a GET does, and the log has no note and no person`()
        async throws
    {
        let (server, _, path) = try await server()
        let steps: [(String, String, Int, String)] = [
            ("claim", Self.ana, 200, "person"), ("claim", Self.ana, 200, "person"),
            ("claim", Self.ben, 409, "person"),
            ("claim", #"{"person":{"id":"ben"},"take":true}"#, 200, "person"),
            ("release", #"{"to":"waiting","note":"a private note"}"#, 200, "waiting"),
            ("claim", Self.ana, 200, "person"),
            ("release", #"{"to":"handler","note":"a private note"}"#, 200, "handler"),
            ("release", #"{"to":"handler"}"#, 409, "handler"),
            ("close", "", 200, "closed"), ("close", "{}", 200, "closed"),
        ]
        for (action, body, status, state) in steps {
            let answer = try await post(server, path + "/" + action, body)
            #expect(answer.status == status, "\(action) \(body)")
            let shown = try await server.api(path)
            #expect(try shown.json["state"]?.string == state)
            guard status == 200 else { continue }
            #expect(answer.header("ETag") == shown.header("ETag"))
            for member in ["id", "customer", "state", "since", "capabilities"] {
                #expect(
                    try answer.json[member].map { Array($0.text) }
                        == shown.json[member].map { Array($0.text) })
            }
            #expect(try answer.json["person"]?["id"]?.string == shown.json["person"]?["id"]?.string)
        }
        let claimed = try await post(server, path + "/claim", Self.ana)
        #expect(try claimed.json["person"]?["name"]?.string == "Ana Secret")
        let refused = try await post(server, path + "/claim", Self.ben)
        #expect(refused.problem == "claimed")
        #expect(try refused.json["person"]?["id"]?.string == "agent-7")
        #expect(
            server.log.lines.contains {
                $0.hasPrefix("info API change") && $0.contains("token=sender") && $0.contains("{c}/claim")
            })
        await server.stop(secrets: Self.secrets)
    }

    @Test func `a token with a person acts for nobody else, and only supervise takes and assigns others`()
        async throws
    {
        let (server, _, path) = try await server()
        let (agent, lead, sender) = (TestTokens.agent, TestTokens.lead, TestTokens.sender)
        let (bens, taken) = (#"{"person":{"id":"ben"}}"#, #"{"person":{"id":"ben"},"take":true}"#)
        // The token, the operation, its body, the status or the problem, and the person who then has the conversation.
        let steps: [(String, String, String, String, String?)] = [
            (agent, "claim", bens, "other-person", nil), (agent, "claim", "{}", "200", "agent-7"),
            (agent, "claim", #"{"person":{"id":"agent-7"}}"#, "200", "agent-7"),
            (sender, "claim", bens, "claimed", "agent-7"), (sender, "claim", taken, "200", "ben"),
            (agent, "claim", "{}", "claimed", "ben"),
            (agent, "claim", #"{"take":true}"#, "right-missing", "ben"),
            (agent, "release", #"{"to":"waiting"}"#, "claimed", "ben"),
            (agent, "close", "", "claimed", "ben"),
            (lead, "claim", #"{"take":true}"#, "200", "lead"), (lead, "claim", taken, "200", "ben"),
            (lead, "claim", #"{"person":{"id":"agent-7"},"take":true}"#, "200", "agent-7"),
            (agent, "messages", #"{"text":"Hi","person":{"id":"ben"}}"#, "other-person", "agent-7"),
            (agent, "messages", #"{"text":"Hi","take":true}"#, "right-missing", "agent-7"),
            (agent, "messages", #"{"text":"Hi","autoReply":true}"#, "bad-member", "agent-7"),
            (agent, "release", #"{"to":"waiting"}"#, "200", nil),
            (agent, "messages", #"{"text":"Hi"}"#, "201", "agent-7"), (lead, "close", "", "200", nil),
        ]
        for (number, (token, action, body, result, holder)) in steps.enumerated() {
            let answer = try await server.api(
                path + "/" + action, token, method: "POST", body: body,
                headers: [("Idempotency-Key", "\(number)")])
            #expect((answer.status < 300 ? "\(answer.status)" : answer.problem) == result, "\(number)")
            #expect(try await server.api(path).json["person"]?["id"]?.string == holder, "\(number)")
        }
        for (token, status) in [(agent, 403), (lead, 200)] {
            let answer = try await server.api(
                Self.base + "people", token, method: "PUT", body: #"{"open":true}"#)
            #expect(answer.status == status)
        }
        let own = try await server.api("/v1/businesses", agent).json
        #expect(own["person"]?["id"]?.string == "agent-7" && own["supervises"]?.bool == false)
        #expect(try await server.api("/v1/businesses").json["person"] == nil)
        // A change is in the audit log soon after its answer.
        let file = server.configuration.dataDirectory + "/" + AuditLog.fileName
        var lines: [JSONValue] = []
        #expect(
            try await eventually {
                lines = try File(file, for: .reading).readAll().split(separator: 0x0A)
                    .map { try JSONDocument(Array($0)).root }
                return lines.count == 17
            })
        let taking = try #require(
            lines.first { $0["by"]?["person"]?.string == "lead" && $0["assigned"]?.string == "ben" })
        #expect(taking["result"]?.string == "200" && taking["conversations"]?.count == 1)
        #expect(lines.contains { $0["by"]?["token"]?.string == "sender" && $0["by"]?["person"] == nil })
        await server.stop(secrets: Self.secrets)
    }

    @Test func `a change whose If-Match is outdated, weak or of another conversation is refused`()
        async throws
    {
        let (server, _, path) = try await server()
        let old = try #require(try await server.api(path).header("ETag"))
        let claimed = try await post(server, path + "/claim", Self.ana, ifMatch: old)
        #expect(claimed.status == 200)
        let tag = try #require(claimed.header("ETag"))
        for wrong in [old, "W/" + tag, "\"other\"", "", "\"other\", \(old)"] {
            for (action, body) in [("claim", Self.ben), ("release", #"{"to":"handler"}"#), ("close", "")] {
                let answer = try await post(server, path + "/" + action, body, ifMatch: wrong)
                #expect(answer.status == 412 && answer.problem == "changed", "\(action) \(wrong)")
            }
        }
        #expect(try await server.api(path).header("ETag") == tag)
        // Two lines are one list (RFC 9110 §5.3).
        let twice = try await server.api(
            path + "/claim", TestTokens.sender, method: "POST", body: Self.ana,
            headers: [("If-Match", "\"x\""), ("If-Match", tag)])
        #expect(twice.status == 200)
        #expect(
            try await post(server, path + "/release", #"{"to":"waiting"}"#, ifMatch: "\"x\", \(tag)").status
                == 200)
        #expect(try await post(server, path + "/close", "", ifMatch: "*").status == 200)
        await server.stop()
    }

    @Test func `of many claims with one ETag exactly one succeeds`() async throws {
        let (server, _, path) = try await server()
        let tag = try #require(try await server.api(path).header("ETag"))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<30 {
                group.addTask {
                    let body = #"{"person":{"id":"p\#(number)"},"take":true}"#
                    return try await post(server, path + "/claim", body, ifMatch: tag).status
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(statuses == [200: 1, 412: 29])
        await server.stop()
    }

    @Test func `a conversation that the customer closed can be neither claimed nor sent a typing indicator`()
        async throws
    {
        let (server, customer, path) = try await server()
        let open = try #require(try await server.api(path).header("ETag"))
        _ = try await customer.post(customer.message(.close))
        #expect(try await eventually { try await server.api(path).json["state"]?.string == "closed" })
        let closed = try #require(try await server.api(path).header("ETag"))
        #expect(try await post(server, path + "/claim", Self.ana).problem == "closed")
        #expect(try await post(server, path + "/claim", Self.ana, ifMatch: open).problem == "changed")
        #expect(try await post(server, path + "/claim", Self.ana, ifMatch: closed).problem == "closed")
        #expect(try await post(server, path + "/typing", #"{"typing":true}"#).problem == "closed")
        await server.stop()
    }

    @Test func `an unknown conversation is not found, and a damaged one is unavailable`() async throws {
        let (server, customer, path) = try await server()
        let unknown = Self.base + "conversations/" + String(repeating: "a", count: 64)
        let bodies = [
            ("claim", Self.ana), ("release", #"{"to":"handler"}"#), ("close", ""),
            ("typing", #"{"typing":true}"#),
        ]
        for (action, body) in bodies {
            #expect(try await post(server, unknown + "/" + action, body).status == 404)
            let other = path.replacing("/one/", with: "/two/")
            #expect(try await post(server, other + "/" + action, body).status == 404)
            for token in [TestTokens.reader, TestTokens.operatorOfOne] {
                let answer = try await post(server, path + "/" + action, body, token: token)
                #expect(answer.problem == "right-missing", "\(action)")
            }
        }
        let name = ConversationFiles.name(of: customer.id)
        let file = "\(customer.business.rawValue)/\(name.prefix(2))/\(name).jsonl"
        let data = server.configuration.dataDirectory
        try Directory.make(Directory.parent(of: data + "/damaged/" + file))
        try AtomicFile.write(Array("damaged\n".utf8), to: data + "/damaged/" + file)
        for (action, body) in bodies {
            let answer = try await post(server, path + "/" + action, body)
            #expect(answer.status == 503 && answer.problem == "unavailable", "\(action)")
        }
        await server.stop()
    }

    @Test(arguments: [
        ("claim", "", "bad-json"), ("claim", "{}", "bad-member"),
        ("claim", #"{"person":"ana"}"#, "bad-member"),
        ("claim", #"{"person":{}}"#, "bad-member"), ("claim", #"{"person":{"id":""}}"#, "bad-member"),
        ("claim", #"{"person":{"id":"a","name":1}}"#, "bad-member"),
        ("claim", #"{"person":{"id":"a\n"}}"#, "bad-member"),
        ("claim", #"{"person":{"id":"a","role":"b"}}"#, "unknown-member"),
        ("claim", #"{"person":{"id":"a"},"take":1}"#, "bad-member"),
        ("claim", #"{"person":{"id":"a"},"takes":true}"#, "unknown-member"),
        ("release", "{}", "bad-member"), ("release", #"{"to":"closed"}"#, "bad-member"),
        ("release", #"{"to":"handler","note":1}"#, "bad-member"),
        ("close", #"{"note":"x"}"#, "unknown-member"), ("typing", "{}", "bad-member"),
        ("typing", #"{"typing":"yes"}"#, "bad-member"), ("people", "{}", "bad-member"),
        ("people", #"{"open":1}"#, "bad-member"), ("people", #"{"open":false}"#, "bad-member"),
        ("people", #"{"open":false,"text":" "}"#, "bad-member"),
        ("people", #"{"open":true,"text":1}"#, "bad-member"),
        ("people", #"{"open":false,"text":"x","until":9}"#, "bad-member"),
        ("people", #"{"open":false,"text":"x","until":"2020-01-01T00:00:00Z"}"#, "bad-member"),
        ("people", #"{"open":true,"until":"2099-01-01T00:00:00Z"}"#, "bad-member"),
        ("people", #"{"open":false,"text":"We are back {opensAt}."}"#, "bad-member"),
        ("people", #"{"open":true,"unknown":9}"#, "unknown-member"),
        ("claim", #"{"person":{"id":"ana"},"opening":"yes"}"#, "bad-member"),
    ])
    func `a body with an unknown member or a wrong value is refused, and the answer names the place`(
        _ action: String, _ body: String, _ problem: String
    ) async throws {
        let (server, _, path) = try await server()
        let isPeople = action == "people"
        let answer = try await server.api(
            isPeople ? Self.base + "people" : path + "/" + action, TestTokens.sender,
            method: isPeople ? "PUT" : "POST", body: body)
        #expect(answer.status == 400 && answer.problem == problem)
        #expect(try answer.json["line"]?.int == 1)
        await server.stop()
    }

    @Test func `a conversation has the customer's last message and the time since which nobody answered it`()
        async throws
    {
        var people = PeopleConfiguration(text: "A colleague answers soon.")
        people.words = CustomerWords(words: Localized(["help"]))
        let (server, customer, path) = try await server(people: people)
        #expect(try await server.api(path).json["unansweredSince"] == nil)
        _ = try await customer.post(customer.message(.text, text: "help"))
        #expect(
            try await eventually {
                let lines = try await server.api(path + "/messages").json["lines"]?.elements
                return lines?.contains { $0["author"]?.string == "server" } ?? false
            })
        // The list reads ten lines first, and typing has lines too.
        for number in 0..<12 {
            let kind: Kind = number.isMultiple(of: 2) ? .typingStart : .typingEnd
            _ = try await customer.post(customer.message(kind))
        }
        #expect(try await eventually { (try await server.api(path).json["lines"]?.int ?? 0) >= 14 })
        for one in [
            try await server.api(path).json,
            try #require(await server.api(Self.base + "conversations").json["conversations"]?[0]),
        ] {
            #expect(one["state"]?.string == "waiting")
            #expect(one["lastInbound"]?["summary"]?.string == "help")
            #expect(one["lastInbound"]?["direction"]?.string == "inbound")
            #expect(one["unansweredSince"]?.string != nil)
        }
        let sent = try await server.api(
            path + "/messages", TestTokens.sender, method: "POST",
            body: #"{"text":"Hello","person":{"id":"ana"}}"#,
            headers: [("Idempotency-Key", "1"), ("Prefer", "wait=20")])
        #expect(sent.status == 201)
        #expect(try await eventually { try await server.api(path).json["unansweredSince"] == nil })
        let one = try await server.api(path).json
        #expect(one["lastInbound"]?["summary"]?.string == "help")
        #expect(one["last"]?["outcome"]?.string == "accepted" && one["last"]?["summary"]?.string == "Hello")
        _ = try await customer.post(customer.message(.text, text: "Loved \u{201C}Hello\u{201D}"))
        #expect(
            try await eventually {
                try await server.api(path).json["lastInbound"]?["summary"]?.string?.hasPrefix("Loved")
                    ?? false
            })
        #expect(try await server.api(path).json["unansweredSince"] == nil)
        let link = try await server.api(
            path + "/messages", TestTokens.sender, method: "POST",
            body: #"{"message":{"type":"richLink","richLinkData":{"url":"https://example.com/returns","#
                + #""title":"Returns"}},"person":{"id":"ana"}}"#,
            headers: [("Idempotency-Key", "2"), ("Prefer", "wait=20")])
        #expect(link.status == 201)
        #expect(
            try await eventually {
                try await server.api(path).json["last"]?["summary"]?.string == "Returns"
            })
        await server.stop()
    }

    @Test func `the presence of people is durable, and a release tells the customer nothing`() async throws {
        let (server, customer, path) = try await server()
        let people = Self.base + "people"
        #expect(try await server.api(people).json["open"]?.bool == true)
        let body = #"{"open":false,"text":"Back at nine."}"#
        let answer = try await server.api(people, TestTokens.sender, method: "PUT", body: body)
        #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == body)
        #expect(try await server.api(people, TestTokens.reader).body == answer.body)
        let stored = PeoplePresence(
            dataDirectory: server.configuration.dataDirectory, logger: server.log.logger)
        #expect(stored[customer.business].closedText == "Back at nine.")
        #expect(try await post(server, path + "/claim", Self.ana).status == 200)
        #expect(try await post(server, path + "/release", #"{"to":"waiting"}"#).status == 200)
        #expect(server.gateway.messages(for: customer.id).count == 1)
        let two = "/v1/businesses/two/people"
        #expect(try await server.api(two, method: "PUT", body: body).problem == "conflict")
        #expect(
            try await server.api(people, TestTokens.reader, method: "PUT", body: body).problem
                == "right-missing")
        await server.stop(secrets: Self.secrets)
    }

    @Test func `a typing indicator is sent at most once in three seconds, and ends on request`() async throws
    {
        let (server, customer, path) = try await server()
        #expect(try await post(server, path + "/typing", #"{"typing":true}"#).status == 200)
        let again = try await post(server, path + "/typing", #"{"typing":true}"#)
        #expect(again.status == 429 && again.header("Retry-After") == "3")
        #expect(try await post(server, path + "/typing", #"{"typing":false}"#).status == 200)
        #expect(try await post(server, path + "/typing", #"{"typing":false}"#).status == 200)
        let sent = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(sent.dropFirst().map { $0.message.root["type"]?.string } == ["typing_start", "typing_end"])
        #expect(sent.map(\.isAutomatic) == [true, false, false])
        #expect(try server.conversation(of: customer).count == 2)
        await server.stop()
    }

    @Test func `typing is an event without an id`() async throws {
        let (server, _, path) = try await server()
        let address = String(try #require(server.adminURL).dropFirst("http://".count))
        let isFollowed = Mutex(false)
        async let followed = onThread { () -> [EventFollower.Event] in
            let follower = try EventFollower(address, token: TestTokens.all)
            defer { isFollowed.withLock { $0 = true } }
            return try follower.events { $0.data["typing"]?.bool == false }
        }
        // Only a follower that has subscribed gets the event.
        let isDone = try await eventually {
            _ = try await post(server, path + "/typing", #"{"typing":true}"#)
            _ = try await post(server, path + "/typing", #"{"typing":false}"#)
            return isFollowed.withLock { $0 }
        }
        #expect(isDone)
        // Events of the greeting, and of further posts, may have come with it.
        let event = try #require(try await followed.last { $0.data["typing"]?.bool == false })
        #expect(event.name == "typing" && event.id == nil)
        #expect(event.data["conversation"]?.string == path.split(separator: "/").last.map(String.init))
        #expect(event.data["business"]?.string == "one")
        await server.stop()
    }

    @Test func `a GET with the current ETag of a conversation gets 304 without a body`() async throws {
        let (server, _, path) = try await server()
        let tag = try #require(try await server.api(path).header("ETag"))
        let known = [(name: "If-None-Match", value: tag)]
        let same = try await server.api(path, headers: known)
        #expect(same.status == 304 && same.header("ETag") == tag && same.body.isEmpty)
        _ = try await post(server, path + "/claim", Self.ana)
        #expect(try await server.api(path, headers: known).status == 200)
        await server.stop()
    }
}
