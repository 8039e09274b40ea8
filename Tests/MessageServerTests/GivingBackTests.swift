import BalloonPOSIX
import ConversationStore
import Glibc
import HandlerKit
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// What is no attempt: the store could not write, or nobody took events any more.
@Suite struct GivingBackTests {
    @Test(arguments: [FullDisk.Part.all, .journal, .conversations])
    func `a full disk costs no attempt, one line in the log, and no order`(_ part: FullDisk.Part) async throws
    {
        let disk = FullDisk()
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler, disk: disk)
        let customers = 300
        for number in 0..<customers { await test.append("first", from: "c\(number)") }
        await test.append("second", from: "c0")
        disk.full.withLock { $0 = part }
        let running = Task { [pipeline = test.pipeline, lane = test.lane] in await pipeline.run(lane) }
        await test.log.first { $0.contains("the disk takes nothing") }
        disk.full.withLock { $0 = nil }
        let messages = await test.gateway.waitForMessages(count: customers + 1, within: .seconds(60))
        #expect(messages.count == customers + 1)
        #expect(handler.seen.allSatisfy { $0.attempt == 1 && !$0.isAfterGap })
        let texts = handler.seen.filter { $0.event.customer.rawValue == "c0" }.map(\.event.id)
        #expect(Set(texts).count == 2)
        await test.stop(running)
        let alarms = test.log.lines.filter { $0.hasPrefix("error") }
        #expect(alarms.count { $0.contains("the disk takes nothing") } < 10, "\(alarms.count)")
        #expect(alarms.count < 20, "\(alarms.count)")
        let journal = try JournalFiles(dataDirectory: test.directory.file("data"))
            .events { $0.attempts > 0 || $0.status != .handled }
        #expect(journal.isEmpty)
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func `a reply's file for which there is no room costs no attempt`() async throws {
        let offer = TemporaryDirectory()
        try AtomicFile.write([UInt8](repeating: 1, count: 100_000), to: offer.file("offer.pdf"))
        let handler = OfferHandler(path: offer.file("offer.pdf"))
        let test = try await PipelineUnderTest(handler)
        let disk = try SmallDisk(bytes: 64 << 10, at: test.directory.file("data/attachments"))
        await test.append("an offer, please", from: "c")
        let running = Task { [pipeline = test.pipeline, lane = test.lane] in await pipeline.run(lane) }
        await test.log.first { $0.contains("stage=handle") && $0.contains("No space left") }
        try disk.resize(to: 1 << 20)
        await test.log.first { $0.contains("stage done") && $0.contains("stage=handle") }
        #expect(handler.attempts.withLock { $0 } == [1, 1])
        await test.stop(running)
    }

    @Test func `a stop while nobody takes events costs no attempt`() async throws {
        let test = try await PipelineUnderTest(UnprovisionedHandler())
        await test.append("hello", from: "c")
        let running = Task { [pipeline = test.pipeline, lane = test.lane] in await pipeline.run(lane) }
        await test.log.first { $0.contains("stage=record") }
        await test.stop(running)
        let given = test.log.lines.filter { $0.contains("given back") }
        #expect(given.count == 1)
        #expect(given.allSatisfy { $0.hasPrefix("debug") && $0.contains("nobody takes events any more") })
        #expect(!test.log.lines.contains { $0.contains("CancellationError") })
        let store = try ConversationStore.open(
            StoreConfiguration(directory: test.directory.file("data")), logger: test.log.logger)
        let delivery = await store.nextDelivery(for: ServerUnderTest.business)
        #expect(delivery?.attempt == 1)
        #expect(delivery?.isParked == false)
        await store.close()
    }
}

/// Answers with a file, and notes which attempt it was.
private final class OfferHandler: TextHandler {
    let attempts = Mutex<[Int]>([])
    private let path: String

    init(path: String) { self.path = path }

    func text(_ text: Text, _ context: Context) -> Outcome {
        attempts.withLock { $0.append(context.attempt) }
        return .handled([.text("Our offer:", files: [OutboundFile(path: path, mimeType: "application/pdf")])])
    }
}

/// Never gets what it needs.
private struct UnprovisionedHandler: TextHandler, LifecycleHandler {
    func provision(_ host: HandlerHost) async throws { throw HandlerHostError.notStored }
    func text(_ text: Text, _ context: Context) -> Outcome { .handled }
}

/// A disk of which some part is full at times.
final class FullDisk: StoreDisk {
    enum Part: Sendable { case all, journal, conversations }

    let full = Mutex<Part?>(nil)
    private let disk = SystemDisk()

    private func check(_ part: Part) throws(SystemError) {
        if let full = full.withLock({ $0 }), full == part || full == .all {
            throw SystemError("write", code: ENOSPC)
        }
    }

    func create(_ path: String) throws(SystemError) -> File {
        try check(.journal)
        return try disk.create(path)
    }

    func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError) {
        try check(.journal)
        try disk.write(bytes, to: file, at: offset)
    }

    func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {
        try check(.journal)
        try disk.fill(file, range)
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        try check(.conversations)
        try disk.append(bytes, to: file)
    }

    func synchronize(_ file: File) throws(SystemError) { try disk.synchronize(file) }
}
