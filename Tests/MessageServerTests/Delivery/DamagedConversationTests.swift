import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import HandlerKit
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// A damaged conversation is never shown as an empty one.
@Suite struct DamagedConversationTests {
    @Test func `an answer given without a readable history is dropped, and the handler is not called again`()
        async throws
    {
        let handler = ReadingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await server.gateway.waitForMessages(customer: customer.id).count == 1)
        try damage(in: server.directory.file("data/conversations"))

        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("the conversation is damaged") && $0.contains("attempt=2") }
        #expect(try await server.readiness() == 200)
        let health = try await server.control("/readyz")
        #expect(health.status == 200)
        let text = String(decoding: health.body, as: UTF8.self)
        #expect(text == "ok\n1 conversation is quarantined: run balloon conversations rebuild\n")
        await server.stop()
        // The first attempt detects the damage, and its answer is dropped.
        #expect(handler.lengths.withLock { $0 } == [1, 0])
        #expect(server.gateway.messages(for: customer.id).count == 1)
        #expect(try server.journal().split(separator: #""type":"outcome""#).count == 2)
        #expect(!Directory.exists(server.directory.file("data/states")))
        // A slow machine may reach a third attempt before the stop.
        let ends = server.stages.events.filter { $0.stage == .handle }.dropFirst().map(\.result)
        #expect(ends.count >= 2)
        for case .postponed(_, let reason) in ends { #expect(reason == "the conversation is damaged") }
    }

    @Test
    func `an unreadable handler state is logged with its file, and the handler is not called without it`()
        async throws
    {
        let handler = ForgettingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await server.gateway.waitForMessages(customer: customer.id).count == 1)
        try damage(in: server.directory.file("data/states"))
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("delivery postponed") && $0.contains("/states/") }
        await server.stop()
        #expect(handler.calls.withLock { $0 } == 1)
    }

    /// Overwrites the content between the braces of the first line.
    private func damage(in folder: String) throws {
        let business = folder + "/" + ServerUnderTest.business.rawValue
        let fan = business + "/" + (try #require(Directory.names(in: business).first))
        let file = try File(fan + "/" + (try #require(Directory.names(in: fan).first)), for: .overwriting)
        try file.write(Array("####".utf8), at: 10)
    }
}

/// Stores a state for the conversation at each call.
private final class ForgettingHandler: TextHandler {
    let calls = Mutex(0)

    func text(_: Text, _ context: Context) -> Outcome {
        calls.withLock { $0 += 1 }
        context.state.replace(with: context.event.message)
        return .reply("noted")
    }
}

/// Answers with the length of the history.
private final class ReadingHandler: TextHandler {
    let lengths = Mutex<[Int]>([])

    func text(_: Text, _ context: Context) -> Outcome {
        let count = context.conversation.entries.count
        lengths.withLock { $0.append(count) }
        if count == 0 { context.state.replace(with: context.event.message) }
        return .reply("\(count)")
    }
}
