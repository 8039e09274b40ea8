import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// In-process handlers that receive failed replies.
struct ReplyFailureTests {
    /// Answers a text with its own text, and a failure with its description.
    private struct Apologetic: TextHandler, ReplyFailedHandler {
        var outcome: @Sendable (ReplyFailure) throws -> Outcome

        func text(_ text: Text, _ context: Context) -> Outcome { .reply("about \(text.plainBody)") }

        func replyFailed(_ failure: ReplyFailure, _ context: Context) throws -> Outcome {
            let failed = context.conversation.entries.last { $0.id == failure.reply }
            #expect(failed?.outcome == failure.status.rawValue)
            return try outcome(failure)
        }
    }

    private struct Silent: TextHandler {
        func text(_ text: Text, _ context: Context) -> Outcome { .reply("about it") }
    }

    private struct NotNow: Error {}

    private func refuseOnce(_ server: PipelineUnderTest) {
        server.gateway.misbehave(at: .message, .answer(.badRequest), times: 1)
    }

    @Test func `a handler answers the failure of its reply`() async throws {
        let server = try await PipelineUnderTest(
            Apologetic { .reply("\($0.status) \($0.httpStatus ?? 0) \($0.kind) after \($0.attempts)") })
        refuseOnce(server)
        let running = server.run()
        await server.append("bread", from: "urn:mbid:a")
        let sent = await server.gateway.waitForMessages(customer: CustomerID("urn:mbid:a"))
        #expect(sent.map { $0.message.root["body"]?.string } == ["refused 400 text after 1"])
        await server.stop(running)
        let events = try JournalFiles(dataDirectory: server.directory.file("data")).events { _ in true }
        #expect(events.map(\.isReplyFailure) == [false, true])
        #expect(events.map(\.status) == [.handled, .handled])
    }

    @Test func `a failure event is dropped after its handler failed at all attempts`() async throws {
        var server = try await PipelineUnderTest(Apologetic { _ in throw NotNow() })
        server.pipeline.retrySchedule = RetrySchedule(backoff: Backoff([.milliseconds(1)]))
        refuseOnce(server)
        let running = server.run()
        await server.append("bread", from: "urn:mbid:a")
        await server.log.count(1) { $0.contains("did not accept the notice of a failed reply") }
        // Later events are served normally.
        await server.append("cheese", from: "urn:mbid:a")
        let sent = await server.gateway.waitForMessages(customer: CustomerID("urn:mbid:a"))
        #expect(sent.map { $0.message.root["body"]?.string } == ["about cheese"])
        let files = JournalFiles(dataDirectory: server.directory.file("data"))
        // The event is parked, so the later one does not wait for its end.
        #expect(
            try await eventually { try files.events(where: \.isReplyFailure).map(\.status) == [.dropped] })
        await server.stop(running)
        #expect(try files.events(where: \.isDeadLetter).isEmpty)
        #expect(server.log.lines.count { $0.contains("did not accept the notice of a failed reply") } == 1)
    }

    @Test func `when the answer to a replyFailed event fails too, no event reports it`() async throws {
        let server = try await PipelineUnderTest(Apologetic { _ in .reply("sorry") })
        server.gateway.misbehave(at: .message, .answer(.badRequest), times: 2)
        let running = server.run()
        await server.append("bread", from: "urn:mbid:a")
        await server.log.count(2) { $0.contains("reply refused by the gateway") }
        await server.append("cheese", from: "urn:mbid:a")
        let sent = await server.gateway.waitForMessages(customer: CustomerID("urn:mbid:a"))
        #expect(sent.map { $0.message.root["body"]?.string } == ["about cheese"])
        await server.stop(running)
        let files = JournalFiles(dataDirectory: server.directory.file("data"))
        #expect(try files.events(where: \.isReplyFailure).count == 1)
    }

    @Test func `a failure that its handler does not subscribe to ends unhandled`() async throws {
        let server = try await PipelineUnderTest(Silent())
        refuseOnce(server)
        let running = server.run()
        await server.append("bread", from: "urn:mbid:a")
        await server.log.count(1) { $0.contains("delivery ended") }
        await server.stop(running)
        let files = JournalFiles(dataDirectory: server.directory.file("data"))
        #expect(try files.events(where: \.isReplyFailure).map(\.status) == [.unhandled])
        #expect(!server.log.lines.contains { $0.contains("no handler for this kind") })
        #expect(!server.worker.current.wantsReplyFailures)
    }
}
