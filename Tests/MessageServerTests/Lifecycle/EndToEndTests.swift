import BalloonHTTP
import BalloonJSON
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// The complete path: a signed and compressed webhook at the socket, a reply at the gateway, the conversation
/// on disk.
@Suite struct EndToEndTests {
    @Test(arguments: Kind.allCases.filter { $0 != .close })
    func `a message of each kind is stored, handled, answered and recorded`(_ kind: Kind) async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let id = MessageID.random()
        let answer = try await customer.post(customer.message(kind, id: id))
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        // Acknowledged means on disk: the journal has it before any further processing.
        #expect(try server.journal().contains(id.rawValue))

        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.first?.message.root["body"]?.string == "seen: \(kind.rawValue)")
        #expect(handler.seen.map(\.event.kind) == [kind])
        #expect(handler.seen.first?.event.id == id)
        #expect(handler.seen.first?.attempt == 1)
        await server.stop()

        let lines = try server.conversation(of: customer)
        #expect(lines.map(\.sequence) == [1, 2])
        #expect(lines.map(\.direction) == [.inbound, .outbound])
        #expect(lines.map(\.kind) == [kind, .text])
        #expect(lines.first?.id == id)
        #expect(lines.last?.id == replies.first?.id)
        #expect(lines.last?.outcome == "accepted")
        #expect(lines.last?.status == 200)
    }

    @Test(arguments: Fixture.names(in: "messages"))
    func `every sample arrives as an event of its kind`(_ name: String) async throws {
        let kind = try #require(Kind(rawValue: String(name.prefix { $0 != "-" && $0 != "." })))
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let sample = try JSONDocument(Fixture.bytes("messages/" + name)).root.replacing(members: [
            "sourceId": Array("\"\(customer.id.rawValue)\"".utf8),
            "destinationId": Array("\"\(customer.business.rawValue)\"".utf8),
        ])
        #expect(try await customer.post(try customer.message(completing: sample)).status == 200)
        // A close gets no answer, so a text follows that gets one.
        if kind == .close { _ = try await customer.post(customer.message(.text)) }
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(handler.seen.first?.event.kind == kind)
        await server.stop()
    }

    @Test func `a form of more than 10 KB is resolved completely from its reference`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let form = try largeForm(customer)
        #expect(try await customer.post(form).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(server.gateway.requestCount(.decodePayload) == 1)
        let event = try #require(handler.seen.first?.event)
        guard case .form(let read) = event.content else {
            Issue.record("not a form: \(event.kind)")
            return
        }
        #expect(!read.selections.isEmpty)
        #expect(event.message["interactiveDataRef"] == nil)
        #expect((event.message["interactiveData"]?.text.count ?? 0) > 10240)
        await server.stop()
        let line = try #require(try server.conversation(of: customer).first)
        #expect(line.message["interactiveData"] != nil)
        #expect(line.message["interactiveDataRef"] == nil)
    }

    @Test func `a reference is retried when the gateway fails for seconds`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        // One failure more than the client's own attempts, so that the server must retry the download.
        server.gateway.misbehave(at: .preDownload, .answer(.serviceUnavailable), times: 5)
        #expect(try await customer.post(customer.message(.quickReply), isLarge: true).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(handler.seen.map(\.event.kind) == [.quickReply])
        await server.stop()
    }

    @Test func `Retry-After of a reply that was not accepted is the pause before its next attempt`()
        async throws
    {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable, retryAfterSeconds: 40))
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("stage=reply") }
        let pauses = server.stages.events.compactMap { event -> Int? in
            if case .postponed(let milliseconds, _) = event.result { milliseconds } else { nil }
        }
        #expect(pauses == [40_000])
        await server.stop()
    }

    @Test func `a message with an unresolvable reference is delivered without its payload`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        server.gateway.misbehave(at: .preDownload, .answer(.notFound), times: 10)
        #expect(try await customer.post(customer.message(.quickReply), isLarge: true).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        #expect(handler.seen.map(\.event.kind) == [.unrecognized])
        // The resolver may report its stage after the delivery that waited for it.
        await server.stages.first { $0.stage == .resolve && $0.result != .done }
        // The loss of the customer's choice is counted, and logged as an error.
        #expect(server.log.lines.contains { $0.hasPrefix("error") && $0.contains("expired=1") })
        await server.stop()
    }

    @Test func `the same message twice is handled once`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let message = customer.message(.text)
        for _ in 0..<3 { #expect(try await customer.post(message).status == 200) }
        #expect(try await customer.post(customer.message(.quickReply)).status == 200)
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(handler.seen.map(\.event.kind) == [.text, .quickReply])
        await server.stop()
    }

    @Test func `a conversation is handled in the order in which it was sent`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        for number in 0..<20 {
            #expect(try await customer.post(customer.message(.text, text: "message \(number)")).status == 200)
        }
        _ = await server.gateway.waitForMessages(count: 20, customer: customer.id)
        let bodies = handler.seen.compactMap { $0.event.message["body"]?.string }
        #expect(bodies == (0..<20).map { "message \($0)" })
        #expect(handler.seen.last?.conversation.entries.isEmpty == false)
        await server.stop()
    }

    @Test func `after temporary failures of the gateway, the reply is accepted once`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: 2)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.count == 1)
        #expect(replies.first?.repeats == 0)
        await server.stop()
    }

    @Test func `a reply that the gateway refuses is recorded as refused`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        await server.stop()
        let outcomes = try server.conversation(of: customer).compactMap(\.outcome)
        #expect(outcomes == ["refused", "accepted"])
    }

    @Test func `a reply that the device cannot show is not sent, and the log names the broken rule`()
        async throws
    {
        let server = try await ServerUnderTest(ChoiceHandler())
        var customer = server.customer()
        customer.capabilities = [.listPicker]
        #expect(try await customer.post(customer.message(.text, text: "choose")).status == 200)
        customer.capabilities = [.quickReply]
        #expect(try await customer.post(customer.message(.text, text: "choose")).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.count == 1)
        await server.stop()
        // The first answer is refused as a whole, so that it has no line.
        #expect(try server.conversation(of: customer).compactMap(\.outcome) == ["accepted"])
        #expect(server.log.lines.contains { $0.contains("answer refused") && $0.contains("capability") })
    }

    @Test func `tokens and private answers reach the handler and no file but the journal`() async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let message = """
            {"v":1,"type":"interactive","interactiveData":{"data":{"version":"1.0","requestIdentifier":"r",
            "authenticate":{"status":"authenticated","token":"c2VjcmV0LXRva2Vu"}}}}
            """
        #expect(try await customer.post(try customer.message(completing: Array(message.utf8))).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        guard case .authentication(let authentication)? = handler.seen.first?.event.content else {
            Issue.record("no authentication event")
            return
        }
        #expect(authentication.token == "c2VjcmV0LXRva2Vu")
        await server.stop(secrets: ["c2VjcmV0LXRva2Vu"])
        let kept = try #require(try server.conversation(of: customer).first?.message)
        #expect(kept["interactiveData"]?["data"]?["authenticate"]?["token"]?.string == "[not kept]")
    }

    @Test func `eight handlers that block forever do not affect other businesses`() async throws {
        let handler = BlockingHandler()
        var limits = ServerLimits()
        limits.handlerDeadline = .milliseconds(200)
        let server = try await ServerUnderTest(handler) { $0.limits = limits }
        for _ in 0..<8 {
            let customer = server.customer()
            #expect(try await customer.post(customer.message(.text, text: "block")).status == 200)
        }
        await handler.waitForBlocked(8)
        await server.log.count(8) { $0.contains("stage=handle") && $0.contains("overran its deadline") }
        for business in [ServerUnderTest.business, ServerUnderTest.otherBusiness] {
            let customer = server.customer(to: business)
            #expect(try await customer.post(customer.message(.text, text: "answer")).status == 200)
            #expect(await server.gateway.waitForMessages(customer: customer.id).count == 1)
        }
        handler.release()
        await server.stop()
    }

    private func largeForm(_ customer: SimulatedCustomer) throws -> [UInt8] {
        let form = try JSONDocument(customer.message(.form))
        let data = try #require(form.root["interactiveData"]?["data"])
        let image = String(repeating: "iVBORw0KGgo", count: 2000)
        let largeData = data.replacing(members: [
            "images": Array(#"[{"identifier":"1","data":"\#(image)"}]"#.utf8)
        ])
        let interactiveData = try #require(form.root["interactiveData"]).replacing(members: [
            "data": largeData
        ])
        return form.root.replacing(members: ["interactiveData": interactiveData])
    }
}

/// Answers with a choice, regardless of the device's capabilities.
private struct ChoiceHandler: TextHandler {
    func text(_ text: Text, _ context: Context) throws -> Outcome {
        .reply(
            .quickReply(
                try QuickReplyRequest(
                    summary: "Which?", items: [.init("a", title: "A"), .init("b", title: "B")])))
    }
}
