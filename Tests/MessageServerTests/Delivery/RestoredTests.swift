import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// The first start with a directory that was restored from a backup.
struct RestoredTests {
    /// A message without an end, and a reply that was decided and not sent.
    private func restore(_ directory: TemporaryDirectory, delivers: Bool) async throws {
        let original = TemporaryDirectory()
        let source = original.file("data")
        let store = try Store.open(StoreConfiguration(directory: source), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .text) }
        func append(_ id: String) {
            let message = Array(#"{"id":"\#(id)","v":1,"type":"text","body":"\#(id)"}"#.utf8)
            store.append(
                ReceivedMessage(
                    business: ServerUnderTest.business, customer: CustomerID("c"), id: MessageID(id),
                    message: message)
            ) { #expect($0 == .stored) }
        }
        append("answered")
        let delivery = try #require(await store.nextDelivery(for: ServerUnderTest.business))
        let text =
            #"{"id":"6f1c0000-0000-4000-8000-000000000001","v":1,"type":"text","body":"an answer","#
            + #""sourceId":"\#(ServerUnderTest.business)","destinationId":"c"}"#
        let reply = DecidedReply(
            id: MessageID("6f1c0000-0000-4000-8000-000000000001"), kind: .text, message: Array(text.utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.finish(delivery, result: .handled)
        append("open")
        await store.close()

        let archive = Mutex<[UInt8]>([])
        _ = try await Backup.write(of: source, .init(), program: "test") { piece throws(SystemError) in
            archive.withLock { $0 += piece }
        }
        var options = Restoration.Options()
        options.delivers = delivers
        let bytes = archive.withLock { $0 }
        let position = Atomic(0)
        _ = try await Restoration.run(
            from: { maximum throws(SystemError) in
                let start = position.load(ordering: .relaxed)
                let piece = Array(bytes[start..<min(bytes.count, start + maximum)])
                position.add(piece.count, ordering: .relaxed)
                return piece
            }, into: directory.file("data"), options, logger: LogCollector().logger)
    }

    @Test func `an unfinished message and a queued reply become dead letters, and both can be retried`()
        async throws
    {
        let directory = TemporaryDirectory()
        try await restore(directory, delivers: false)
        let handler = RecordingHandler()
        let journal = JournalFiles(dataDirectory: directory.file("data"))
        let test = try await PipelineUnderTest(handler, in: directory)
        let running = test.run()
        await test.stages.first { $0.stage == .finish }
        await test.stages.first { $0.stage == .reply }
        #expect(handler.seen.isEmpty)
        #expect(test.gateway.messages().isEmpty)
        // Its end is written with the journal's next batch.
        #expect(try await eventually { try !journal.events { $0.isDeadLetter }.isEmpty })
        let dead = try journal.events { $0.isDeadLetter }
        #expect(dead.map(\.id.rawValue) == ["open"])
        #expect(dead.first?.reason == "restored from a backup, after which it may have been handled")
        var replies: [JournalReply] = []
        try journal.forEachReply { replies.append($0) }
        #expect(replies.map(\.isDeadLetter) == [true])

        _ = try await test.store.replayDead(dead.map(\.record), of: ServerUnderTest.business)
        _ = try await test.store.retry(replies.map(\.id))
        // The handler answers the message, and the reply is sent.
        #expect(await test.gateway.waitForMessages(count: 2).count == 2)
        #expect(handler.seen.map(\.event.id.rawValue) == ["open"])
        await test.stop(running)
    }

    @Test func `with deliver, the message is delivered and the reply is sent`() async throws {
        let directory = TemporaryDirectory()
        try await restore(directory, delivers: true)
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler, in: directory)
        let running = test.run()
        #expect(await test.gateway.waitForMessages(count: 2).count == 2)
        #expect(handler.seen.map(\.event.id.rawValue) == ["open"])
        await test.stop(running)
    }
}
