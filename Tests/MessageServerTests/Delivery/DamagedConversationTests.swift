import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import HandlerKit
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// A conversation whose file was damaged is never shown as one in which nothing was said.
@Suite struct DamagedConversationTests {
    @Test func `nobody's answer behind a conversation that cannot be read counts, and nobody is asked again`()
        async throws
    {
        let handler = ReadingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await server.gateway.waitForMessages(customer: customer.id).count == 1)
        try damage(in: server.directory.file("data/conversations"))

        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("its conversation is damaged") && $0.contains("attempt=2") }
        let health = try await server.transport.send(
            TransportRequest(url: server.url + "/readyz", allowsPlainHTTP: true))
        #expect(health.status == 200)
        let text = String(decoding: health.body, as: UTF8.self)
        #expect(text == "ok\n1 conversation is set aside: balloon conversations rebuild\n")
        await server.stop()
        // The first time it is found out; what was made of it is dropped.
        #expect(handler.lengths.withLock { $0 } == [1, 0])
        #expect(server.gateway.messages(for: customer.id).count == 1)
        #expect(server.journal().split(separator: #""type":"outcome""#).count == 2)
        #expect(!Directory.exists(server.directory.file("data/states")))
        let ends = server.stages.events.filter { $0.stage == .handle }.dropFirst().map(\.result)
        #expect(ends.count == 2)
        for case .postponed(_, let reason) in ends { #expect(reason == "its conversation is damaged") }
    }

    @Test func `a handler's state that cannot be read is named, and nobody is asked as if there were none`()
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

    /// Overwrites what is between the braces of the first line.
    private func damage(in folder: String) throws {
        let business = folder + "/" + ServerUnderTest.business.rawValue
        let fan = business + "/" + (try #require(Directory.names(in: business).first))
        let file = try File(fan + "/" + (try #require(Directory.names(in: fan).first)), for: .overwriting)
        try file.write(Array("####".utf8), at: 10)
    }
}

/// Remembers something.
private final class ForgettingHandler: TextHandler {
    let calls = Mutex(0)

    func text(_: Text, _ context: Context) -> Outcome {
        calls.withLock { $0 += 1 }
        context.state.replace(with: context.event.message)
        return .reply("noted")
    }
}

/// Says how much was said before.
private final class ReadingHandler: TextHandler {
    let lengths = Mutex<[Int]>([])

    func text(_: Text, _ context: Context) -> Outcome {
        let count = context.conversation.entries.count
        lengths.withLock { $0.append(count) }
        if count == 0 { context.state.replace(with: context.event.message) }
        return .reply("\(count)")
    }
}
