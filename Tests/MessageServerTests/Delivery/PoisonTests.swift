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

/// One event that its handler never handles, among a thousand conversations.
@Suite struct PoisonTests {
    @Test func `a failing event delays no other conversation, is parked, and becomes a dead letter`()
        async throws
    {
        let handler = PoisonedHandler()
        var retries = RetrySchedule()
        retries.backoff.delays = Array(repeating: .milliseconds(20), count: 6)
        retries.askedDelays = .zero ... .seconds(1)
        let server = try await ServerUnderTest(handler) { $0.retrySchedule = retries }
        let victim = server.customer("urn:mbid:victim")
        #expect(try await victim.post(victim.message(.text, text: "poison")).status == 200)
        #expect(try await victim.post(victim.message(.text, text: "after")).status == 200)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in 0..<16 {
                group.addTask {
                    for number in stride(from: connection, to: 1000, by: 16) {
                        let customer = server.customer("urn:mbid:\(number)")
                        let message = customer.message(.text, text: "fine")
                        let answer = try await customer.post(message)
                        #expect(answer.status == 200)
                    }
                }
            }
            try await group.waitForAll()
        }
        _ = await server.gateway.waitForMessages(count: 1001, within: .seconds(300))
        await handler.waitForTheLastAttempt()
        await server.stop()

        let answered = Set(server.gateway.messages().map(\.customer))
        #expect(answered.count == 1001)
        // Its conversation continued, and the next event reported a gap.
        #expect(handler.after == [true])
        #expect(handler.attempts == 7)
        let dead = try JournalFiles(dataDirectory: server.directory.file("data")).events { $0.isDeadLetter }
        #expect(dead.map { $0.message["body"]?.string } == ["poison"])
        #expect(dead.map(\.attempts) == [7])
        #expect(try server.conversation(of: victim).map(\.direction) == [.inbound, .inbound, .outbound])
    }
}

/// Asks for a retry at once for `poison`, and answers everything else.
private final class PoisonedHandler: TextHandler {
    private let poisoned = EventCollector<Int>()
    private let gaps = Mutex<[Bool]>([])
    private static let lastAttempt = 7

    var attempts: Int { poisoned.events.count }
    var after: [Bool] { gaps.withLock { $0 } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        if text.body == "poison" {
            poisoned.append(context.attempt)
            return .retry(after: .milliseconds(20))
        }
        if text.body == "after" { gaps.withLock { $0.append(context.isAfterGap) } }
        return .reply("seen")
    }

    func waitForTheLastAttempt(_ location: SourceLocation = #_sourceLocation) async {
        await poisoned.count(Self.lastAttempt, location) { _ in true }
    }
}
