import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Glibc
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

@Suite struct SendTests {
    private static func request(
        _ message: String, to customer: CustomerID, files: [OutboundFile] = [],
        business: BusinessID = ServerUnderTest.business, wait: Duration = .seconds(50)
    ) throws -> SendRequest {
        SendRequest(
            business: business, customer: customer, message: try JSONDocument(Array(message.utf8)),
            files: files, wait: wait)
    }

    private func post(_ request: SendRequest, _ server: ServerUnderTest) async throws -> TransportResponse {
        try await server.control("/send", method: "POST", body: request.json)
    }

    @Test func `a message is sent by the running server and recorded in the conversation`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let answer = try await post(
            Self.request(#"{"type":"text","body":"Your bread is ready."}"#, to: customer.id), server)
        #expect(answer.status == 200)
        let outcome = try #require(ControlOperations.send.answer(answer.body))
        #expect(outcome.result == .accepted(status: 200))
        let sent = try #require(server.gateway.messages(for: customer.id).last)
        #expect(sent.id == outcome.id)
        #expect(sent.message.root["body"]?.string == "Your bread is ready.")
        await server.stop()
        let lines = try server.conversation(of: customer)
        #expect(lines.map(\.sequence) == [1, 2, 3])
        #expect(lines.last?.id == outcome.id)
        #expect(lines.last?.outcome == "accepted")
    }

    @Test func `the control socket reports the pending counts`() async throws {
        let server = try await ServerUnderTest()
        let answer = try await server.control("/statistics")
        #expect(answer.status == 200)
        let counts = try JSONDocument(answer.body).root
        #expect(counts["pendingDeliveries"]?.int == 0)
        #expect(counts["unreadableDeliveries"]?.int == 0)
        #expect(counts["quarantinedConversations"]?.int == 0)
        #expect(counts["refusedConversations"]?.int == 0)
        #expect(counts["lastSyncFailure"] == nil)
        #expect(counts["checkpointFailure"] == nil)
        await server.stop()
    }

    @Test func `a program's message is marked for Apple, a person's is not`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        for isAutomatic in [false, true] {
            let request = SendRequest(
                business: ServerUnderTest.business, customer: customer.id,
                message: try JSONDocument(Array(#"{"type":"text","body":"x"}"#.utf8)), files: [],
                wait: .seconds(50), isAutomatic: isAutomatic)
            #expect(
                ControlOperations.send.answer(try await post(request, server).body)?.result
                    == .accepted(status: 200)
            )
        }
        #expect(server.gateway.messages(for: customer.id).map(\.isAutomatic) == [true, false, true])
        await server.stop()
    }

    @Test func `a file is sent with a text`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        let path = server.directory.file("bread.txt")
        try AtomicFile.write(Array("rye".utf8), to: path)
        let file = OutboundFile(path: path, mimeType: "text/plain")
        let answer = try await post(
            Self.request(#"{"type":"text","body":"The list"}"#, to: customer.id, files: [file]), server)
        #expect(ControlOperations.send.answer(answer.body)?.result == .accepted(status: 200))
        let sent = try #require(server.gateway.messages(for: customer.id).last?.message.root)
        #expect(sent["body"]?.string == "The list\u{FFFC}")
        #expect(sent["attachments"].flatMap({ Array($0.elements).first })?["size"]?.string == "3")
        let missing = OutboundFile(path: path + "x", mimeType: "text/plain")
        for (files, message) in [
            ([missing], #"{"type":"text","body":"x"}"#), ([file], #"{"type":"typing_start"}"#),
        ] {
            let refusal = try await post(Self.request(message, to: customer.id, files: files), server)
            #expect(refusal.status == 400)
        }
        await server.stop()
    }

    @Test(arguments: [(ENOSPC, 503), (EROFS, 503), (ENOENT, 400), (EFBIG, 400)])
    func `a file that a full disk refuses is answered with 503, an unusable file with 400`(
        _ code: Int32, _ status: Int
    ) {
        let refusal = ControlRefusal(.fileUnreadable(SystemError("write", code: code), attachment: 0))
        #expect(refusal.answer.status.code == status)
    }

    @Test func `the reason of a failed rebuild is also in the log`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let journal = server.directory.file("data/journal")
        let segment = journal + "/" + (try #require(Directory.names(in: journal).first))
        try File(segment, for: .overwriting).write(Array("####".utf8), at: 10)
        #expect(try await server.control("/rebuild", method: "POST").status == 400)
        #expect(
            server.log.lines.contains {
                $0.contains("rebuild of conversations failed") && $0.contains("is damaged at line 1")
            })
        await server.stop()
    }

    @Test func `a message that Apple would refuse is not sent`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        let cases = [
            (#"{"type":"close"}"#, customer.id, ServerUnderTest.business),
            (#"{"type":"text"}"#, customer.id, ServerUnderTest.business),
            ("[]", customer.id, ServerUnderTest.business),
            (#"{"type":"text","body":"x"}"#, CustomerID("a\r\nb"), ServerUnderTest.business),
            (#"{"type":"text","body":"x"}"#, CustomerID(""), ServerUnderTest.business),
            (#"{"type":"text","body":"x"}"#, customer.id, BusinessID("other")),
        ]
        for (message, customer, business) in cases {
            let answer = try await post(Self.request(message, to: customer, business: business), server)
            #expect(answer.status == 400)
            #expect(try JSONDocument(answer.body).root["error"]?.string?.isEmpty == false)
        }
        #expect(server.gateway.requestCount(.message) == 0)
        await server.stop()
    }

    @Test func `the answer distinguishes a refusal by Apple from a wait that expired`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        let text = #"{"type":"text","body":"x"}"#
        let refused = try await post(Self.request(text, to: customer.id), server)
        #expect(ControlOperations.send.answer(refused.body)?.result?.httpStatus == 400)
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: 4)
        let waiting = try await post(Self.request(text, to: customer.id, wait: .zero), server)
        let answer = try #require(ControlOperations.send.answer(waiting.body))
        #expect(answer.result == nil)
        // The server continues to retry without a waiting caller.
        let sent = await server.gateway.waitForMessages(customer: customer.id)
        #expect(sent.map(\.id) == [answer.id])
        await server.stop()
        // A refused reply is a dead letter, which needs an operator.
        var dead: [JournalReply] = []
        try JournalFiles(dataDirectory: server.directory.file("data"))
            .forEachReply(where: { $0.isDeadLetter }) { dead.append($0) }
        #expect(dead.map(\.httpStatus) == [400])
    }

    @Test func `nothing is sent to a closed conversation`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(try await customer.post(customer.message(.close)).status == 200)
        let answer = try await post(
            Self.request(#"{"type":"text","body":"x"}"#, to: customer.id), server)
        #expect(ControlOperations.send.answer(answer.body)?.result?.status == .dropped)
        // The same holds when the close is further back than the lines that a handler gets.
        for _ in 0..<51 {
            let again = try await post(
                Self.request(#"{"type":"text","body":"x"}"#, to: customer.id), server)
            #expect(ControlOperations.send.answer(again.body)?.result?.status == .dropped)
        }
        #expect(server.gateway.messages(for: customer.id).count == 1)
        await server.stop()
    }

    @Test func `without a running server, a message is sent from the data directory`() async throws {
        let directory = TemporaryDirectory()
        let secret = Secret.random(byteCount: 32)
        let log = LogCollector()
        let gateway = FakeGateway(mspID: ServerUnderTest.mspID, secret: secret, logger: log.logger)
        _ = try await gateway.start()
        var configuration = ServerConfiguration(
            mspID: ServerUnderTest.mspID, secret: secret,
            businesses: [
                BusinessConfiguration(
                    slug: "one", businessID: ServerUnderTest.business, name: "one",
                    handler: .builtin(name: "none", configuration: nil))
            ])
        configuration.dataDirectory = directory.file("data")
        configuration.gateway.url = try #require(gateway.baseURL)
        let customer = CustomerID("urn:mbid:c")
        let request = try Self.request(#"{"type":"text","body":"x"}"#, to: customer)
        // A message of another customer waits for the server.
        let store = try Store.open(
            StoreConfiguration(directory: configuration.dataDirectory), logger: log.logger)
        store.append(
            ReceivedMessage(
                business: ServerUnderTest.business, customer: CustomerID("d"), id: MessageID("m"),
                message: Array(#"{"id":"m","type":"text","body":"y"}"#.utf8))
        ) { #expect($0 == .stored) }
        await #expect(throws: StoreError.self) {
            try await DirectSend.run(request, configuration, logger: log.logger)
        }
        await store.close()
        let answer = try await DirectSend.run(request, configuration, logger: log.logger)
        #expect(answer.result == .accepted(status: 200))
        let lines = try ConversationFiles(dataDirectory: configuration.dataDirectory).lines(
            of: ServerUnderTest.business, customer)
        #expect(lines.map(\.id) == [answer.id])
        // The customer's message waits for its handler; a proactive message does not wait for it.
        let second = try Self.request(#"{"type":"text","body":"x"}"#, to: CustomerID("d"))
        #expect(
            try await DirectSend.run(second, configuration, logger: log.logger).result
                == .accepted(status: 200))
        #expect(gateway.messages().count == 2)
        await gateway.stop()
        let again = try Store.open(
            StoreConfiguration(directory: configuration.dataDirectory), logger: log.logger)
        #expect(again.statistics.pendingDeliveries == 1)
        await again.close()
    }
}
