import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import BalloonJSON
@testable import MessageServer

/// Listing and searching conversations over the API.
@Suite struct ConversationListTests {
    private static let path = "/v1/businesses/one/conversations"

    /// A server with conversations of these customers; each wrote one text, which names the customer, in this order.
    private func server(_ customers: [String]) async throws -> ServerUnderTest {
        let server = try await ServerUnderTest.withAPI { $0.api.requestsPerMinute = 100_000 }
        for name in customers {
            let customer = server.customer("urn:mbid:\(name)")
            _ = try await customer.post(
                customer.message(.text, id: MessageID("m-\(name)"), text: "Ask \(name)"))
            _ = await server.gateway.waitForMessages(count: 1, customer: customer.id)
        }
        let count = customers.count
        // The index is loaded in the background, and the line of a sent reply follows Apple's answer.
        #expect(
            try await eventually {
                let answer = try await server.api(Self.path + "?limit=200")
                return try answer.status == 200
                    && answer.json["conversations"]?.elements.compactMap { $0["lines"]?.int }
                        == Array(repeating: 2, count: count)
            })
        return server
    }

    private func names(_ answer: TransportResponse) throws -> [String] {
        try #require(try answer.json["conversations"]?.elements.compactMap { $0["customer"]?.string })
            .map { String($0.dropFirst("urn:mbid:".count)) }
    }

    private func names(_ query: String, _ server: ServerUnderTest) async throws -> [String] {
        try await names(server.api(Self.path + query))
    }

    /// The path in the field `Link`.
    private func next(_ answer: TransportResponse) -> String? {
        guard let link = answer.header("Link"), link.hasSuffix(">; rel=\"next\"") else { return nil }
        return String(link.dropFirst().prefix { $0 != ">" })
    }

    @Test func `the list has each conversation once, the latest first, and follows its links`() async throws {
        let server = try await server(["a", "b", "c", "d", "e"])
        var (seen, link) = ([String](), String?.some(Self.path + "?limit=2"))
        while let path = link {
            let page = try await server.api(path)
            #expect(page.status == 200)
            seen += try names(page)
            link = next(page)
        }
        #expect(seen == ["e", "d", "c", "b", "a"])
        let answer = try await server.api(Self.path + "?limit=1")
        let newest = try #require(try answer.json["conversations"]?.elements.compactMap { $0 }.first)
        #expect(newest["state"]?.string == "handler")
        #expect(newest["last"]?["direction"]?.string == "outbound")
        #expect(try await server.api(Self.path + "?limit=2&cursor=x").problem == "bad-cursor")
        await server.stop()
    }

    @Test func `a new line between two requests does not change which other conversations the pages have`()
        async throws
    {
        let server = try await server(["a", "b", "c", "d"])
        let first = try await server.api(Self.path + "?limit=2")
        #expect(try names(first) == ["d", "c"])
        let customer = server.customer("urn:mbid:a")
        _ = try await customer.post(customer.message(.text, id: MessageID("again"), text: "Again"))
        #expect(try await eventually { try await names("?limit=1", server) == ["a"] })
        #expect(try await names(server.api(#require(next(first)))) == ["b"])
        await server.stop()
    }

    @Test func `the summary of a quick reply to the customer has the titles of its items`() async throws {
        let server = try await ServerUnderTest.withAPI(OfferingHandler())
        let customer = server.customer("urn:mbid:a")
        _ = try await customer.post(customer.message(.text))
        #expect(
            try await eventually {
                let list = try await server.api(Self.path).json["conversations"]
                return list?[0]?["last"]?["summary"]?.string == "Yes, No"
            })
        await server.stop()
    }

    @Test func `conversations are listed by state, person, customer, kind and time`() async throws {
        let server = try await server(["a", "b", "c"])
        let claim =
            #"{"job":"\#(ControlRoutes.newJob())","business":"\#(ServerUnderTest.business.rawValue)","#
            + #""customer":"urn:mbid:b","person":{"id":"ana","name":"Ana"}}"#
        let claimed = try await server.control(
            "/conversations/claim", method: "POST", body: Array(claim.utf8))
        #expect(claimed.status == 200)
        let times = try await server.api(Self.path).json["conversations"]?.elements
            .compactMap { $0["last"]?["at"]?.string }
        let newest = try #require(times?.first)
        let cases: [(query: String, expected: [String])] = [
            ("?state=person", ["b"]), ("?state=handler", ["c", "a"]), ("?state=waiting", []),
            ("?state=closed", []), ("?person=ana", ["b"]), ("?person=bob", []),
            ("?state=person&person=ana", ["b"]), ("?state=handler&person=ana", []),
            ("?customer=urn:mbid:a", ["a"]), ("?customer=urn:mbid:x", []),
            ("?customer=urn:mbid:b&state=handler", []), ("?kind=text", ["c", "b", "a"]), ("?kind=form", []),
            ("?since=\(newest)", ["c"]), ("?until=\(newest)", ["b", "a"]),
        ]
        for (query, expected) in cases { #expect(try await names(query, server) == expected, "\(query)") }
        let invalid = [
            "?state=x", "?kind=x", "?since=x", "?x=1", "?limit=0", "?customer=", "?customer=a%00b",
            "?customer=a%0Ab", "?person=a%7F", "?person=\(String(repeating: "x", count: 201))",
        ]
        for query in invalid {
            #expect(try await server.api(Self.path + query).status == 400, "\(query)")
        }
        await server.stop()
    }

    @Test func `a plus sign in an identifier of a query is refused with the spelling that is meant`()
        async throws
    {
        let server = try await server(["a+b"])
        #expect(try await names("?customer=urn:mbid:a%2Bb", server) == ["a+b"])
        let plain = Self.path + "?customer=urn:mbid:a+b"
        for query in [plain, Self.path + "?person=ana+lee", Self.path + "?since=2026-11-22T20:00:00+01:00"] {
            let answer = try await server.api(query)
            #expect(answer.status == 400 && answer.problem == "bad-parameter", "\(query)")
            #expect(try answer.json["detail"]?.string?.contains("%2B") == true, "\(query)")
        }
        // In a text that is searched, and written so in an identifier, a space is a space.
        #expect(try await server.api(Self.path + "?q=a+b").status == 200)
        #expect(try await server.api(Self.path + "?customer=a%20b").status == 200)
        let events = try await server.api("/v1/events?business=de+mo")
        #expect(events.status == 400)
        await server.stop()
    }

    @Test func `a conversation that the customer closed is listed as closed, not as with its handler`()
        async throws
    {
        let server = try await server(["a", "b", "c"])
        let customer = server.customer("urn:mbid:b")
        _ = try await customer.post(customer.message(.close))
        #expect(try await eventually { try await names("?state=closed", server) == ["b"] })
        #expect(try await names("?state=handler", server) == ["c", "a"])
        #expect(try await names("?customer=urn:mbid:b&state=closed", server) == ["b"])
        #expect(try await names("?q=ask&state=closed", server) == ["b"])
        let path = Self.path + "/" + ConversationFiles.name(of: CustomerID("urn:mbid:a")) + "/close"
        #expect(try await server.api(path, method: "POST").status == 200)
        #expect(try await names("?state=closed", server).sorted() == ["a", "b"])
        let listed = try await server.api(Self.path + "?state=closed").json["conversations"]?.elements
        #expect(listed?.compactMap { $0["state"]?.string } == ["closed", "closed"])
        await server.stop()
    }

    @Test func `a search finds text regardless of case, and says how many conversations it read`()
        async throws
    {
        let server = try await server(["anna", "bert", "carl"])
        #expect(try await names("?q=ASK", server) == ["carl", "bert", "anna"])
        #expect(try await names("?q=ask%20bert", server) == ["bert"])
        let none = try await server.api(Self.path + "?q=nothing")
        #expect(try names(none).isEmpty)
        #expect(try none.json["searched"]?.int == 3)
        // The search ignores identifiers in a message.
        #expect(try await names("?q=m-anna", server).isEmpty)
        #expect(try await names("?q=ask&customer=urn:mbid:anna", server) == ["anna"])
        await server.stop()
    }

    @Test func `a page keeps the lines of one conversation in memory, not of all`() throws {
        let (directory, business) = (TemporaryDirectory(), BusinessID("b-1"))
        let files = ConversationFiles(dataDirectory: directory.path)
        let names = ["a", "b", "c"].map { ConversationFiles.name(of: CustomerID("urn:mbid:\($0)")) }
        for (customer, name) in zip(["a", "b", "c"], names) {
            let folder = directory.file("conversations/b-1/\(name.prefix(2))")
            try Directory.make(folder)
            let line =
                #"{"seq":1,"at":"2026-11-22T20:00:00.000Z","direction":"inbound","id":"m","kind":"text","#
                + #""customer":"urn:mbid:\#(customer)","record":1,"#
                + #""message":{"body":"\#(String(repeating: "x", count: 100_000))"}}"#
            try AtomicFile.write(Array((line + "\n").utf8), to: "\(folder)/\(name).jsonl")
        }
        weak var earlier: JSONStorage?
        var read: [String] = []
        let page = try APIOperations.page(of: names, in: .handler) { name in
            let isReleased = earlier == nil
            #expect(isReleased)
            let facts = try ConversationFacts.read(name, of: business, files, lines: (10, 1)) { _ in .handler
            }
            earlier = facts?.lines.last?.message.storage
            read.append(name)
            return facts
        }
        #expect(read == names && page.unreadable == 0)
        #expect(page.conversations.allSatisfy { $0.count < 2000 })
        #expect(try page.conversations.map { try JSONDocument($0).root["id"]?.string } == names)
        withExtendedLifetime(directory) {}
    }
}

/// Answers each text with a quick reply.
private struct OfferingHandler: TextHandler {
    func text(_: Text, _ context: Context) throws -> Outcome {
        .reply(
            .quickReply(
                try QuickReplyRequest(
                    summary: "Sure?",
                    items: [
                        QuickReplyRequest.Item("yes", title: "Yes"),
                        QuickReplyRequest.Item("no", title: "No"),
                    ])))
    }
}
