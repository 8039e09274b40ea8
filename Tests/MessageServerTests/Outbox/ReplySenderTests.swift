import BalloonHTTP
import BusinessMessages
import MessageStore
import Simulator
import TestSupport
import Testing

@testable import MessageServer

@Suite(.timeLimit(.minutes(10))) struct ReplySenderTests {
    @Test func `a reply that the gateway accepts is settled and leaves the outbox`() async throws {
        let test = try await SenderUnderTest()
        #expect(try await test.send("Hello", to: "x") == .accepted(status: 200))
        #expect(test.store.queuedReplyCount == 0)
        #expect(test.texts() == ["Hello"])
        await test.stop()
    }

    private func link(_ url: String, title: String) -> OutboundMessage {
        .richLink(RichLink(url, title: title, image: nil).fetched(storeRegion: "de"))
    }

    @Test func `a link is sent with the preview that Apple makes`() async throws {
        let test = try await SenderUnderTest()
        let message = link("https://appclip.example.com/a", title: "")
        #expect(try await test.send("", to: "x", message: message) == .accepted(status: 200))
        let sent = try #require(test.gateway.messages().first?.message.root)
        #expect(sent["preview"] == nil)
        #expect(sent["richLinkDataRef"]?["title"]?.string == "https://appclip.example.com/a")
        await test.stop()
    }

    @Test(arguments: ["", "A page"])
    func `a link without a preview is sent with its title, and refused without one`(_ title: String)
        async throws
    {
        let test = try await SenderUnderTest()
        // Apple makes previews of https only.
        let result = try await test.send("", to: "x", message: link("http://example.com/a", title: title))
        if title.isEmpty {
            guard result?.status == .refused, result?.httpStatus == 400 else {
                Issue.record("\(result as Any)")
                return await test.stop()
            }
            #expect(test.gateway.messages().isEmpty)
        } else {
            #expect(result == .accepted(status: 200))
            let sent = try #require(test.gateway.messages().first?.message.root)
            #expect(sent["preview"] == nil)
            #expect(sent["richLinkData"]?["title"]?.string == title)
            #expect(sent["richLinkData"]?["url"]?.string == "http://example.com/a")
        }
        await test.stop()
    }

    @Test func `a failure of the gateway at the preview is retried`() async throws {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .constructPayload, .answer(.serviceUnavailable), times: 2)
        let message = link("https://appclip.example.com/a", title: "A title")
        #expect(try await test.send("", to: "x", message: message) == .accepted(status: 200))
        #expect(test.gateway.messages().first?.message.root["richLinkDataRef"] != nil)
        await test.stop()
    }

    @Test func `a reusable picker of 300 kB is transferred once for all customers`() async throws {
        let test = try await SenderUnderTest()
        let items = (0..<900).map { number in
            ListPickerRequest.Item(
                "i\(number)", title: String(repeating: "a", count: 300), subtitle: "number \(number)")
        }
        let section = ListPickerRequest.Section("Bread", items: items)
        let picker = OutboundMessage.listPicker(
            ListPickerRequest([section], presentation: Presentation("Which?")), reusable: true)
        var identifiers: Set<String> = []
        for number in 0..<20 {
            let id = MessageID.random()
            let body = picker.encodeToSend(
                id: id, from: SenderUnderTest.business, to: CustomerID("c\(number)"))
            #expect(body.count > 300_000)
            let data = try JSONDocument(body, limits: .stored).root["interactiveData"]?["data"]
            identifiers.insert(data?["requestIdentifier"]?.string ?? "")
            let result = try await test.send("", to: "c\(number)", kind: .listPicker, message: picker)
            #expect(result == .accepted(status: 200))
        }
        #expect(identifiers.count == 1)
        let sent = test.gateway.messages().map(\.message.root)
        #expect(sent.count { $0["interactiveData"] != nil } == 1)
        #expect(sent.count { $0["interactiveDataRef"] != nil } == 19)
        // Different content has another identifier, and without `reusable` each message has its own identifier.
        let other = OutboundMessage.listPicker(
            ListPickerRequest([section], presentation: Presentation("Which one?")), reusable: true)
        let single = OutboundMessage.listPicker(
            ListPickerRequest([section], presentation: Presentation("Which?")))
        for message in [other, single, single] {
            let body = message.encodeToSend(
                id: .random(), from: SenderUnderTest.business, to: CustomerID("c"))
            let data = try JSONDocument(body, limits: .stored).root["interactiveData"]?["data"]
            let isNew = identifiers.insert(data?["requestIdentifier"]?.string ?? "").inserted
            #expect(isNew)
        }
        await test.stop()
    }

    @Test func `a reusable message from JSON has the same identifier as the typed one`() throws {
        let request = try QuickReplyRequest(
            summary: "Collect?", items: [.init("y", title: "Yes"), .init("n", title: "No")],
            requestIdentifier: MessageID.random().rawValue)
        let typed = OutboundMessage.quickReply(request, reusable: true)
        let read = try OutboundMessage(json: JSONDocument(typed.draft()))
        #expect(read.isReusable)
        func identifier(_ message: OutboundMessage) throws -> String? {
            let body = message.encodeToSend(
                id: .random(), from: SenderUnderTest.business, to: CustomerID("c"))
            let root = try JSONDocument(body).root
            #expect(root["reusable"] == nil)
            return root["interactiveData"]?["data"]?["requestIdentifier"]?.string
        }
        #expect(try identifier(read) == identifier(typed))
    }

    @Test(arguments: [
        (#"{"type":"text","body":"A preview, \"quoted\""}"#, false), (#"{"preview":{"url":"x"}}"#, true),
        (#"{"body":"\\preview\\"}"#, false), (#"{"pre\u0076iew":{}}"#, true), (#"{"previews":1}"#, false),
        ("{}", false),
    ])
    func `the bytes of a message tell whether it can have a preview`(_ json: String, _ mayHave: Bool) {
        #expect(Array(json.utf8).mayHaveMember("preview") == mayHave)
    }

    @Test(arguments: [HTTPStatus.badRequest, .notFound, .contentTooLarge])
    func `a reply whose message the gateway refuses ends as refused`(_ status: HTTPStatus) async throws {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .message, .answer(status))
        let result = try await test.send("Hello", to: "x")
        guard result?.status == .refused, result?.httpStatus == status.code else {
            Issue.record("not refused")
            return await test.stop()
        }
        #expect(test.gateway.requestCount(.message) == 1)
        // The next reply is not affected.
        #expect(try await test.send("again", to: "x") == .accepted(status: 200))
        await test.stop()
    }

    @Test(arguments: [HTTPStatus.serviceUnavailable, .internalServerError, .requestTimeout])
    func `a reply is retried with its id after a failure of the gateway`(_ status: HTTPStatus)
        async throws
    {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .message, .answer(status, retryAfterSeconds: 1), times: 12)
        #expect(try await test.send("Hello", to: "x") == .accepted(status: 200))
        #expect(test.gateway.requestCount(.message) == 13)
        #expect(test.gateway.messages().map(\.repeats) == [0])
        await test.stop()
    }

    @Test func `a waiting reply delays only later replies of its conversation`() async throws {
        let test = try await SenderUnderTest {
            $0.misbehave(at: .message, .answer(.serviceUnavailable), times: 1)
        }
        let first = Task { try await test.send("1", to: "x") }
        await test.log.first { $0.contains("postponed") }
        async let second = test.send("2", to: "x")
        async let other = test.send("other", to: "y")
        #expect(try await first.value == .accepted(status: 200))
        #expect(try await [second, other] == [.accepted(status: 200), .accepted(status: 200)])
        #expect(test.texts("x") == ["1", "2"])
        await test.stop()
    }

    @Test(arguments: [HTTPStatus.unauthorized, .forbidden])
    func `a reply refused with 401 or 403 is sent with a fresh token`(_ status: HTTPStatus)
        async throws
    {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .message, .answer(status))
        #expect(try await test.send("Hello", to: "x") == .accepted(status: 200))
        #expect(test.gateway.requestCount(.message) == 2)
        await test.stop()
    }

    @Test(arguments: [HTTPStatus.unauthorized, .forbidden])
    func `no reply is lost while the credential is refused`(_ status: HTTPStatus) async throws {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .message, .answer(status), times: 10_000)
        let ends = Task {
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask { try await test.send("\(number)", to: "customer \(number % 5)") }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        await test.log.first { $0.contains("sending of replies paused") && $0.contains("\(status.code)") }
        #expect(test.sender.pauses.map(\.business) == [nil])
        test.gateway.behave()
        #expect(try await ends.value == Array(repeating: .accepted(status: 200), count: 20))
        #expect(test.store.queuedReplyCount == 0)
        #expect(test.sender.pauses.isEmpty)
        #expect(test.gateway.messages().count == 20)
        await test.stop()
    }

    // Authentication has its own endpoint, which may refuse while messages are accepted.

    @Test func `a 403 about one message refuses that message alone`() async throws {
        let test = try await SenderUnderTest(isRunning: false)
        await test.queue("bad", to: "x", kind: .authentication)
        for number in 0..<3 { await test.queue("\(number)", to: "y\(number)") }
        test.gateway.misbehave(at: .authenticate, .answer(.forbidden), times: 10_000)
        let running = Task { await test.sender.run() }
        // Replies that were in flight are no evidence; a later reply is.
        #expect(await test.gateway.waitForMessages(count: 3).count == 3)
        while !test.log.lines.contains(where: { $0.contains("reply refused by the gateway") }) {
            _ = try await test.send("more", to: "z")
        }
        #expect(try await test.send("after", to: "x") == .accepted(status: 200))
        #expect(!test.texts().contains("bad"))
        #expect(test.sender.pauses.isEmpty)
        test.store.stopLeasing()
        await running.value
        await test.stop()
    }

    @Test func `a refused reply of one business pauses nothing, and its cause is unknown`() async throws {
        let test = try await SenderUnderTest(businessCount: 2)
        test.gateway.misbehave(at: .authenticate, .answer(.forbidden), times: 10_000)
        await test.queue("bad", to: "x", kind: .authentication)
        await test.log.first { $0.contains("postponed") && $0.contains("refused with 403") }
        #expect(test.sender.unexplainedRefusals == .init(count: 1, status: 403))
        for number in 0..<50 {
            let result = try await test.send("\(number)", to: "y", of: SenderUnderTest.otherBusiness)
            #expect(result == .accepted(status: 200))
        }
        // The business of the refused reply sends nothing else, so its message may be as good as any.
        #expect(!test.log.lines.contains { $0.contains("sending of replies paused") })
        #expect(!test.log.lines.contains { $0.contains("reply refused by the gateway") })
        #expect(test.store.queuedReplyCount == 1)
        test.gateway.behave()
        #expect(await test.gateway.waitForMessages(customer: CustomerID("x")).count == 1)
        await test.stop()
    }

    @Test func `a 403 about one business pauses only its outbox`() async throws {
        let test = try await SenderUnderTest(isRunning: false, businessCount: 2)
        for number in 0..<3 {
            await test.queue("a\(number)", to: "x\(number)", kind: .authentication)
        }
        test.gateway.misbehave(at: .authenticate, .answer(.forbidden), times: 10_000)
        let running = Task { await test.sender.run() }
        await test.log.first { $0.contains("sending of replies paused") }
        #expect(test.sender.pauses.map(\.business) == [SenderUnderTest.business])
        #expect(test.sender.pauses.map(\.isExplained) == [false])
        let other = try await test.send("more", to: "z", of: SenderUnderTest.otherBusiness)
        #expect(other == .accepted(status: 200))
        #expect(test.sender.pauses.map(\.isExplained) == [true])
        test.gateway.behave()
        for number in 0..<3 {
            #expect(await test.gateway.waitForMessages(customer: CustomerID("x\(number)")).count == 1)
        }
        await test.log.first { $0.contains("sending of replies resumed") }
        #expect(test.sender.pauses.isEmpty)
        test.store.stopLeasing()
        await running.value
        await test.stop()
    }

    @Test func `an unsent reply expires after its lifetime`() async throws {
        let test = try await SenderUnderTest(lifetime: .zero)
        guard try await test.send("Hello", to: "x")?.status == .expired else {
            Issue.record("not expired")
            return await test.stop()
        }
        #expect(test.gateway.requestCount(.message) == 0)
        await test.stop()
    }

    @Test(arguments: [HTTPStatus.serviceUnavailable, .forbidden, .badRequest])
    func `a typing indicator gets one attempt`(_ status: HTTPStatus) async throws {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .message, .answer(status))
        let end = try await test.send("", to: "x", kind: .typingStart)
        #expect(end != .accepted(status: 200) && end != nil)
        #expect(test.gateway.requestCount(.message) == 1)
        #expect(try await test.send("Hello", to: "x") == .accepted(status: 200))
        await test.stop()
    }

    @Test func `a reply that breaks a rule of Apple's is refused before it is sent`() async throws {
        let test = try await SenderUnderTest()
        let body = Array(#"{"type":"text","body":"no envelope"}"#.utf8)
        let result = try await test.send("", to: "x", body: body)
        guard result?.status == .refused, result?.httpStatus == nil, let reason = result?.reason else {
            Issue.record("not refused")
            return await test.stop()
        }
        #expect(reason.contains("it breaks the rule"))
        #expect(test.gateway.requestCount(.message) == 0)
        await test.stop()
    }

    @Test func `a reply whose attempt is interrupted by a stop is sent after a restart with the same id`()
        async throws
    {
        let directory = TemporaryDirectory()
        let first = try await SenderUnderTest(in: directory)
        first.gateway.misbehave(at: .message, .silence)
        let id = MessageID.random()
        await first.queue("Hello", to: "x", id: id)
        _ = await first.gateway.waitForMessages()
        await first.stop()
        let second = try await SenderUnderTest(in: directory)
        #expect(await second.gateway.waitForMessages().map(\.id) == [id])
        await second.stop()
    }

    @Test func `twenty failures over several conversations pause the gateway until a reply is accepted`()
        async throws
    {
        let test = try await SenderUnderTest()
        test.gateway.misbehave(at: .message, .answer(.badGateway), times: 10_000)
        async let ends = withThrowingTaskGroup { group in
            for number in 0..<10 { group.addTask { try await test.send("\(number)", to: "c\(number)") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        await test.log.first { $0.contains("sending of replies paused") && $0.contains("502") }
        let asked = test.gateway.requestCount(.message)
        #expect(asked < 60)
        test.gateway.behave()
        #expect(try await ends.count == 10)
        #expect(test.gateway.messages().count == 10)
        await test.stop()
    }

    @Test func `three hundred queued replies leave though no more than 64 of a business are in flight`()
        async throws
    {
        let test = try await SenderUnderTest(isRunning: false)
        for number in 0..<300 { await test.queue("\(number)", to: "c\(number)") }
        test.gateway.misbehave(at: .message, .delay(.milliseconds(50)), times: 10_000)
        let running = Task { await test.sender.run() }
        #expect(await test.gateway.waitForMessages(count: 300).count == 300)
        test.store.stopLeasing()
        await running.value
        await test.stop()
    }
}
