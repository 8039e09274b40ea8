import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Sending messages and invitations over the API.
@Suite struct SendingTests {
    private static let base = "/v1/businesses/one"
    private static let text = #"{"text":"loaf of rye"}"#

    /// A server with one customer who wrote and was answered, and the path of the customer's messages.
    private func start(
        capabilities: Capabilities? = nil, adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> (server: ServerUnderTest, customer: SimulatedCustomer, path: String) {
        let server = try await ServerUnderTest.withAPI {
            $0.api.requestsPerMinute = 100_000
            adjust(&$0)
        }
        var customer = server.customer()
        if let capabilities { customer.capabilities = capabilities }
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let name = ConversationFiles.name(of: customer.id)
        let path = Self.base + "/conversations/" + name
        #expect(try await eventually { try await server.api(path).json["lines"]?.int == 2 })
        return (server, customer, path + "/messages")
    }

    private func post(
        _ body: String, _ path: String, _ server: ServerUnderTest, key: String? = "key-1", wait: Int = 50,
        token: String = TestTokens.sender
    ) async throws -> TransportResponse {
        let keys = key.map { [(name: "Idempotency-Key", value: $0)] } ?? []
        return try await server.api(
            path, token, method: "POST", body: body, headers: keys + [("Prefer", "wait=\(wait)")])
    }

    /// The texts that the gateway accepted after the handler's answer.
    private func sent(_ server: ServerUnderTest, _ customer: SimulatedCustomer) -> [String?] {
        server.gateway.messages(for: customer.id).dropFirst().map { $0.message.root["body"]?.string }
    }

    @Test func `a message is sent once for each key, and a repetition gets the same answer`() async throws {
        let (server, customer, path) = try await start()
        let first = try await post(Self.text, path, server)
        #expect(first.status == 201)
        #expect(try first.json["outcome"]?.string == "accepted" && first.json["status"]?.int == 200)
        let id = try #require(try first.json["id"]?.string)
        #expect(first.header("Location") == path + "/" + id)
        let message = try await server.api(path + "/" + id)
        #expect(try message.json["outcome"]?.string == "accepted")
        #expect(try message.json["line"]?["message"]?["body"]?.string == "loaf of rye")
        for wait in [0, 50] {
            let again = try await post(Self.text, path, server, wait: wait)
            #expect(again.status == 201 && again.body == first.body)
            #expect(again.header("Location") == first.header("Location"))
        }
        #expect(sent(server, customer) == ["loaf of rye"])
        let reused = try await post(#"{"text":"loaf of oat"}"#, path, server)
        #expect(reused.status == 422 && reused.problem == "key-reused")
        // The same key with another token, and another key, send another message.
        let other = try await post(Self.text, path, server, token: TestTokens.all)
        let second = try await post(Self.text, path, server, key: "key-2")
        #expect(try Set([first, other, second].map { try $0.json["id"]?.string }).count == 3)
        #expect(sent(server, customer).count == 3)
        await server.stop(secrets: ["loaf of", "key-1", "bln_"])
    }

    @Test func `a fifth request of a token that reads the journal is refused, and another token's is not`()
        async throws
    {
        let readers = InFlightOperations(maximum: InFlightOperations.maximumJournalReaders)
        let token = TestTokens.token("crm", "bln_crm", [.send])
        let permits = (0..<4).map { _ in readers.begin(token.name) }
        let problem = await #expect(throws: APIProblem.self) { try await readers.reading(for: token) {} }
        #expect(problem?.status == .serviceUnavailable)
        #expect(problem?.fields.map(\.name) == ["Retry-After"])
        try await readers.reading(for: TestTokens.token("other", "bln_other", [.send])) {}
        for permit in permits { permit?.release() }
        try await readers.reading(for: token) {}
        #expect(readers.count(of: token.name) == 0)
    }

    @Test func `1,024 requests of a token may wait for outcomes, and another token's are not counted`() throws
    {
        let waiting = InFlightOperations(maximum: APIOperations.maximumWaiting)
        let token = TestTokens.token("crm", "bln_crm", [.send])
        let permits = try (0..<1024).map { _ in try waiting.permit(for: token, to: "wait for outcomes") }
        let problem = #expect(throws: APIProblem.self) {
            try waiting.permit(for: token, to: "wait for outcomes")
        }
        #expect(problem?.status == .serviceUnavailable)
        #expect(problem?.fields.map(\.name) == ["Retry-After"])
        try waiting.permit(for: TestTokens.token("other", "bln_other", [.send]), to: "wait for outcomes")
            .release()
        permits.first?.release()
        try waiting.permit(for: token, to: "wait for outcomes").release()
        for permit in permits { permit.release() }
        #expect(waiting.count(of: token.name) == 0)
    }

    @Test func `equal requests at the same time send one message`() async throws {
        let (server, customer, path) = try await start()
        let ids = try await withThrowingTaskGroup { group in
            for _ in 0..<30 {
                group.addTask { try await post(Self.text, path, server).json["id"]?.string }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(ids.count == 1 && ids.first != .some(nil))
        #expect(sent(server, customer).count == 1)
        await server.stop()
    }

    @Test func `a queued message is shown as queued, and then with its outcome`() async throws {
        let (server, customer, path) = try await start()
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: .max)
        let queued = try await post(Self.text, path, server, wait: 0)
        #expect(queued.status == 201)
        #expect(try queued.json["outcome"]?.string == "queued")
        let location = try #require(queued.header("Location"))
        let state = try await server.api(location)
        #expect(try state.json["outcome"]?.string == "queued" && state.json["line"] == nil)
        // The message is not found in another conversation.
        let other = location.replacing(
            ConversationFiles.name(of: customer.id), with: String(repeating: "a", count: 64))
        #expect(try await server.api(other).status == 404)
        server.gateway.behave()
        #expect(try await post(Self.text, path, server).json["outcome"]?.string == "accepted")
        #expect(try await server.api(location).json["outcome"]?.string == "accepted")
        #expect(sent(server, customer).count == 1)
        await server.stop(secrets: ["loaf of"])
    }

    @Test(arguments: [nil, "", "a b", "ä", String(repeating: "k", count: 201)])
    func `a request without a usable key is refused`(key: String?) async throws {
        let (server, customer, path) = try await start()
        let answer = try await post(Self.text, path, server, key: key)
        #expect(answer.status == 400 && answer.problem == "bad-request")
        let twice = try await server.api(
            path, method: "POST", body: Self.text,
            headers: [("Idempotency-Key", "a"), ("Idempotency-Key", "b")])
        #expect(twice.status == 400)
        #expect(sent(server, customer).isEmpty)
        await server.stop()
    }

    @Test func `a stop answers the requests that wait for an outcome with queued`() async throws {
        let (server, _, path) = try await start()
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: .max)
        async let waiting = post(Self.text, path, server)
        let requests = server.gateway.requestCount(.message)
        #expect(await eventually { server.gateway.requestCount(.message) > requests })
        let began = ContinuousClock.now
        #expect(await server.stopServer(within: .seconds(60)))
        let answer = try await waiting
        #expect(answer.status == 201)
        #expect(try answer.json["outcome"]?.string == "queued")
        #expect(began.duration(to: .now) < .seconds(25))
        await server.stop()
    }

    @Test func `a malformed body is refused, and the answer names the place`() async throws {
        let (server, customer, path) = try await start()
        let place = try await post("{\"text\":\"x\",\n  \"colour\": \"blue\"}", path, server)
        #expect(place.status == 400 && place.problem == "unknown-member")
        #expect(try place.json["pointer"]?.string == "/colour")
        #expect(try place.json["line"]?.int == 2 && place.json["column"]?.int == 13)
        for (body, kind) in [
            ("", "bad-json"), ("[]", "bad-json"), ("{}", "bad-member"), (#"{"text":1}"#, "bad-member"),
            (#"{"text":"x","message":{}}"#, "bad-member"), (#"{"message":[]}"#, "bad-member"),
            (#"{"text":"x","text":"y"}"#, "bad-member"), (#"{"text":"x","take":true}"#, "bad-member"),
            (#"{"text":"x","autoReply":true,"person":{"id":"ana"}}"#, "bad-member"),
            (#"{"text":"x","autoReply":"yes"}"#, "bad-member"),
            (#"{"text":"x","person":{"name":"Ana"}}"#, "bad-member"),
            (#"{"text":"x","person":{"id":""}}"#, "bad-member"),
            (#"{"text":"x","person":{"id":"a","role":"b"}}"#, "unknown-member"),
            (#"{"text":"x","attachments":[]}"#, "bad-member"),
            (#"{"text":"x","attachments":[{"id":"../x","name":"a","mimeType":"a/b"}]}"#, "bad-member"),
            (#"{"message":{"type":"text","body":"x"},"attachments":[]}"#, "bad-member"),
            (#"{"message":{"type":"typing_start"}}"#, "bad-member"),
            (#"{"text":"x","customer":"tel:+4912345"}"#, "unknown-member"),
            (
                #"{"message":{"type":"text","body":"x","attachments":[{"path":"/etc/passwd"}]}}"#,
                "unknown-member"
            ),
            (#"{"message":{"type":"text","body":"x","attachments":[{"file":"00"}]}}"#, "unknown-member"),
        ] {
            let answer = try await post(body, path, server)
            #expect(answer.status == 400 && answer.problem == kind, "\(body)")
        }
        #expect(sent(server, customer).isEmpty)
        await server.stop()
    }

    @Test func `a message that Apple refuses is answered with every problem and its place`() async throws {
        let (server, customer, path) = try await start()
        let body = "{\"message\":\n  {\"type\": \"text\",\n   \"body\": \"\"},\n \"autoReply\": true}"
        let answer = try await post(body, path, server)
        #expect(answer.status == 422 && answer.problem == "unprocessable")
        let problem = try #require(try answer.json["problems"]?.elements.first { _ in true })
        #expect(problem["pointer"]?.string == "/message/body" && problem["severity"]?.string == "error")
        #expect(problem["line"]?.int == 3 && problem["column"]?.int == 12)
        #expect(problem["passage"]?.string?.isEmpty == false)
        let close = try await post(#"{"message":{"type":"close"}}"#, path, server)
        #expect(close.status == 422)
        #expect(sent(server, customer).isEmpty)
        await server.stop()
    }

    @Test func `a message that the device cannot show is refused unless it has a fallback`() async throws {
        let (server, customer, path) = try await start(capabilities: [.authentication])
        let picker = try OutboundMessage.quickReply(
            QuickReplyRequest(
                summary: "Which bread?", items: [.init("rye", title: "Rye"), .init("oat", title: "Oat")],
                requestIdentifier: MessageID.random().rawValue))
        let draft = String(decoding: picker.draft(), as: UTF8.self)
        let answer = try await post(#"{"message":\#(draft)}"#, path, server)
        #expect(answer.status == 422 && answer.problem == "not-showable")
        #expect(try answer.json["fallback"]?.string?.contains("Rye") == true)
        let other = String(decoding: picker.orText("Rye?").draft(), as: UTF8.self)
        #expect(try await post(#"{"message":\#(other)}"#, path, server).status == 201)
        #expect(sent(server, customer) == ["Rye?"])
        await server.stop()
    }

    @Test func `a person's message claims the conversation, and another person must take it`() async throws {
        let (server, customer, path) = try await start()
        let ana = #"{"text":"a","person":{"id":"ana","name":"Ana"}}"#
        let ben = #"{"text":"b","person":{"id":"ben"}}"#
        #expect(try await post(ana, path, server, key: "a").status == 201)
        let facts = try await server.api(String(path.dropLast("/messages".count)))
        #expect(try facts.json["state"]?.string == "person")
        #expect(try facts.json["person"]?["id"]?.string == "ana")
        for (body, key) in [(ben, "b"), (#"{"text":"c","autoReply":true}"#, "c")] {
            for query in ["", "?dryRun=true"] {
                let answer = try await post(body, path + query, server, key: key)
                #expect(answer.status == 409 && answer.problem == "claimed", "\(body) \(query)")
                #expect(try answer.json["person"]?["name"]?.string == "Ana")
            }
        }
        let take = #"{"text":"d","person":{"id":"ben"},"take":true}"#
        #expect(try await post(take, path, server, key: "b").status == 201)
        // A repetition is answered, although another person has the conversation now.
        #expect(try await post(ana, path, server, key: "a").status == 201)
        #expect(sent(server, customer) == ["a", "d"])
        #expect(server.gateway.messages(for: customer.id).map(\.isAutomatic) == [true, false, false])
        await server.stop()
    }

    @Test func `a message in a conversation that the customer closed is refused`() async throws {
        let (server, customer, path) = try await start()
        #expect(try await post(Self.text, path, server).status == 201)
        #expect(try await customer.post(customer.message(.close)).status == 200)
        #expect(
            try await eventually {
                try server.conversation(of: customer).contains { $0.kind == .close }
            })
        for body in [
            #"{"text":"x"}"#, #"{"text":"x","autoReply":true}"#, #"{"text":"x","person":{"id":"ana"}}"#,
        ] {
            for query in ["", "?dryRun=true"] {
                let answer = try await post(body, path + query, server, key: "other")
                #expect(answer.status == 409 && answer.problem == "closed", "\(body)")
            }
        }
        // Repeating the first message succeeds, although a new one would be refused.
        #expect(try await post(Self.text, path, server).json["outcome"]?.string == "accepted")
        await server.stop()
    }

    @Test(.timeLimit(.minutes(2)))
    func `hostile messages are judged in time with short answers, and the server answers the next request`()
        async throws
    {
        let (server, customer, path) = try await start()
        func form(_ options: String, _ pages: Int = 1) -> String {
            let all = (0..<pages).map {
                #"{"pageIdentifier":"\#($0)","type":"input","title":"t","subtitle":"s","nextPageIdentifier":"\#(($0 + 1) % pages)"\#(options)}"#
            }
            return
                #"{"message":{"type":"interactive","interactiveData":{"bid":"\#(Interaction.businessExtension)","data":{"#
                + #""version":"1.0","requestIdentifier":"r","dynamic":{"version":"1.2","template":"messageForms","data":{"#
                + #""startPageIdentifier":"0","pages":[\#(all.joined(separator: ","))]}}},"receivedMessage":{"title":"t"}}}}"#
        }
        let marks = String(repeating: "\u{301}\u{323}", count: 60_000)
        let unknown = (0..<20_000).map { #","n\#($0)":1"# }.joined()
        let hostile: [(body: String, status: Int)] = [
            (form(#","options":{"regex":"\#(String(repeating: "[", count: 5000))"}"#), 200),
            (form(#","options":{"regex":"\#(String(repeating: "(?:", count: 5000))"}"#), 200),
            (form("", 1000), 200), (form("", 1001), 422),
            (#"{"message":{"type":"text","body":"x"\#(unknown)}}"#, 422),
            (#"{"message":{"type":"t\#(marks)","body":"x"}}"#, 422), (#"{"text":"x\#(marks)"}"#, 200),
            (#"{"text":"x","n\#(marks)":1}"#, 400), (#"{"text":"x"\#(unknown)}"#, 400),
            (#"{"message":\#(String(repeating: "[", count: 100_000))"#, 400),
            (
                #"{"message":{"type":"text","body":"x","a":[\#(repeatElement("[]", count: 200_000).joined(separator: ","))]}}"#,
                400
            ),
        ]
        for (body, status) in hostile {
            let answer = try await post(body, path + "?dryRun=true", server)
            #expect(
                answer.status == status,
                "\(body.prefix(60)): \(String(decoding: answer.body.prefix(300), as: UTF8.self))")
            #expect(answer.body.count < 100_000)
        }
        #expect(try await post(Self.text, path, server).status == 201)
        #expect(sent(server, customer) == ["loaf of rye"])
        await server.stop()
    }

    @Test func `a dry run checks the message and sends nothing`() async throws {
        let (server, customer, path) = try await start()
        let body = #"{"text":"x","person":{"id":"ana"}}"#
        let answer = try await post(body, path + "?dryRun=true", server)
        #expect(answer.status == 200)
        #expect(try answer.json["outcome"]?.string == "checked")
        let refused = try await post(#"{"text":""}"#, path + "?dryRun=true", server)
        #expect(refused.status == 422)
        #expect(
            try await server.api(String(path.dropLast("/messages".count))).json["state"]?.string == "handler")
        #expect(sent(server, customer).isEmpty)
        #expect(try !server.journal().contains("\"request\""))
        await server.stop()
    }

    @Test func `an unknown conversation is not found, and neither is one of another business`() async throws {
        let (server, _, path) = try await start()
        let unknown = Self.base + "/conversations/" + String(repeating: "a", count: 64) + "/messages"
        for path in [unknown, path.replacing("/one/", with: "/two/")] {
            #expect(try await post(Self.text, path, server).status == 404)
        }
        await server.stop()
    }

    @Test func `an invitation is sent to a telephone number, once for each key`() async throws {
        let (server, _, _) = try await start()
        let invitation = OutboundMessage.invitation(
            InvitationRequest(
                template: "binaryChoice.engage.noImage", reference: "campaign-7", locale: "en-us",
                brandName: "Bakery", requestIdentifier: MessageID.random().rawValue))
        let draft = String(decoding: invitation.draft(), as: UTF8.self)
        let body = #"{"customer":"tel:+4912345678","message":\#(draft)}"#
        let first = try await post(body, Self.base + "/messages", server)
        #expect(first.status == 201)
        let customer = CustomerID("tel:+4912345678")
        #expect(
            first.header("Location")?.hasPrefix(
                Self.base + "/conversations/" + ConversationFiles.name(of: customer) + "/messages/") == true)
        #expect(try await post(body, Self.base + "/messages", server).body == first.body)
        #expect(server.gateway.messages(for: customer).count == 1)
        // A text to a telephone number is refused, because it is not an invitation.
        let text = #"{"customer":"tel:+4912345678","text":"x"}"#
        #expect(try await post(text, Self.base + "/messages", server, key: "x").status == 422)
        for number in ["", #""customer":"tel:+49 1","#, #""customer":"urn:mbid:AQAA","#, #""customer":5,"#] {
            let answer = try await post(#"{\#(number)"text":"x"}"#, Self.base + "/messages", server)
            #expect(answer.status == 400 && answer.problem == "bad-member")
        }
        await server.stop(secrets: ["4912345678", "Bakery"])
    }

    @Test func `a key's message id differs for a handler, another token, business or customer`() throws {
        let customer = CustomerID("c")
        let business = ServerUnderTest.business
        func id(
            _ key: String, _ token: String = "crm", _ business: BusinessID = business,
            _ customer: CustomerID = customer
        ) throws -> MessageID {
            try #require(
                IdempotencyKey(key, token: token, business: business, customer: customer, body: [])
            ).message
        }
        let ids = try [
            id("k"), id("l"), id("k", "crm2"), id("k", "crm", ServerUnderTest.otherBusiness),
            id("k", "crm", business, CustomerID("d")), ProactiveMessages.id(business, customer, "k"),
        ]
        #expect(Set(ids).count == ids.count)
        #expect(try id("k") == id("k"))
    }
}
