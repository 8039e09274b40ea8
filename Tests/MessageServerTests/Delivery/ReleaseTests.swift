import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import GatewayClient
import Glibc
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// A delivery's attempt is not counted when the store cannot write, or when the handler accepts no events.
@Suite struct ReleaseTests {
    @Test(arguments: [FullDisk.Part.all, .journal, .conversations])
    func `a full disk costs a delivery no attempt, logs one line, and keeps the order`(_ part: FullDisk.Part)
        async throws
    {
        let disk = FullDisk()
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler, disk: disk)
        let customers = 300
        for number in 0..<customers { await test.append("first", from: "c\(number)") }
        await test.append("second", from: "c0")
        disk.full.withLock { $0 = part }
        let running = test.run()
        await test.log.first { $0.contains("disk write failed") }
        // Every conversation is tried, and none of them has a line of its own in the log.
        if part != .journal { #expect(await eventually { disk.refusals.withLock { $0 } >= customers }) }
        disk.full.withLock { $0 = nil }
        let messages = await test.gateway.waitForMessages(count: customers + 1, within: .seconds(300))
        #expect(messages.count == customers + 1)
        #expect(handler.seen.allSatisfy { $0.attempt == 1 && !$0.isAfterGap })
        let texts = handler.seen.filter { $0.event.customer.rawValue == "c0" }.map(\.event.id)
        #expect(Set(texts).count == 2)
        await test.stop(running)
        let alarms = test.log.lines.filter { $0.hasPrefix("error") }
        #expect(alarms.count { $0.contains("disk write failed") } < 10, "\(alarms.count)")
        #expect(alarms.count < 20, "\(alarms.count)")
        // The number counts every call, also one whose outcome the disk refused.
        let calls = Dictionary(grouping: handler.seen, by: \.event.id).mapValues(\.count)
        let journal = try JournalFiles(dataDirectory: test.directory.file("data"))
            .events { $0.status != .handled || $0.attempts != calls[$0.id] }
        #expect(journal.isEmpty)
    }

    @Test func `a full disk for conversations alone is a degraded check, and the server stays ready`()
        async throws
    {
        let disk = FullDisk()
        let test = try await PipelineUnderTest(RecordingHandler(), disk: disk)
        let checks = ReadinessChecks(store: test.store)
        func deliveries() -> ReadinessCheck.State? {
            checks.readiness.checks.first { $0.name == "deliveries" }?.state
        }
        #expect(deliveries() == .ok)
        await test.append("first", from: "c")
        disk.full.withLock { $0 = .conversations }
        let running = test.run()
        await test.log.first { $0.contains("disk write failed") }
        #expect(deliveries() == .degraded(reason: ReadinessFacts.pausedDeliveries))
        #expect(checks.readiness.isReady)
        disk.full.withLock { $0 = nil }
        #expect(await eventually { deliveries() == .ok })
        await test.stop(running)
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func `a reply's file that a full disk refuses costs the delivery no attempt`() async throws {
        let offer = TemporaryDirectory()
        try AtomicFile.write([UInt8](repeating: 1, count: 100_000), to: offer.file("offer.pdf"))
        let handler = OfferHandler(path: offer.file("offer.pdf"))
        let test = try await PipelineUnderTest(handler)
        let disk = try SmallDisk(bytes: 64 << 10, at: test.directory.file("data/attachments"))
        await test.append("an offer, please", from: "c")
        let running = test.run()
        await test.log.first { $0.contains("stage=handle") && $0.contains("No space left") }
        try disk.resize(to: 1 << 20)
        await test.log.first { $0.contains("stage done") && $0.contains("stage=handle") }
        // The handler is called once more for each second that passes until the test frees space.
        let attempts = handler.attempts.withLock { $0 }
        #expect(attempts.count >= 2 && attempts.allSatisfy { $0 == 1 }, "\(attempts)")
        await test.stop(running)
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func `a customer's file that a full disk refuses costs no attempt, and is downloaded later`()
        async throws
    {
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler)
        let content = [UInt8](repeating: 1, count: 200_000)
        let file = try await test.pipelines.gateway.upload(
            ContentSource(bytes: content), for: ServerUnderTest.business)
        let attachment = String(
            decoding: file.attachment(name: "a.jpg", mimeType: "image/jpeg").json, as: UTF8.self)
        let disk = try SmallDisk(bytes: 64 << 10, at: test.directory.file("data/attachments"))
        await test.append("Look: \u{FFFC}", from: "c", attachments: "[\(attachment)]")
        let running = test.run()
        await test.log.first { $0.contains("stage=fetch") }
        try disk.resize(to: 1 << 20)
        _ = await test.gateway.waitForMessages(count: 1)
        #expect(handler.seen.map(\.attempt) == [1])
        guard case .stored(_, content.count, _)? = handler.seen.first?.files.first else {
            Issue.record("\(handler.seen.map(\.files))")
            return await test.stop(running)
        }
        await test.stop(running)
    }

    @Test func `lines that one file refuses delay no answer, and are restored from the journal later`()
        async throws
    {
        let disk = FullDisk(code: EACCES)
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler, disk: disk)
        disk.full.withLock { $0 = .conversations }
        await test.append("first", from: "c")
        let running = test.run()
        #expect(await test.gateway.waitForMessages(count: 1).count == 1)
        try #require(await test.isSeen { $0.contains("stage=reply") })
        disk.full.withLock { $0 = nil }
        await test.append("second", from: "c")
        #expect(await test.gateway.waitForMessages(count: 2).count == 2)
        #expect(handler.seen.map(\.attempt) == [1, 1])
        await test.stop(running)
        let result = try StoreVerification.run(dataDirectory: test.directory.file("data")) {
            Issue.record("\($0)")
        }
        #expect((result.problems, result.lines) == (0, 4))
    }

    @Test func `a message that is unreadable and cannot be recorded becomes a dead letter`() async throws {
        let disk = FullDisk(code: EACCES)
        var test = try await PipelineUnderTest(RecordingHandler(), disk: disk)
        test.pipeline.retrySchedule.backoff.delays = Array(repeating: .milliseconds(1), count: 4)
        disk.full.withLock { $0 = .conversations }
        let deep = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
        let unreadable = ReceivedMessage(
            business: ServerUnderTest.business, customer: CustomerID("c"), id: .random(),
            message: Array(#"{"deep":\#(deep)}"#.utf8))
        await withCheckedContinuation { stored in test.store.append(unreadable) { _ in stored.resume() } }
        let running = test.run()
        try #require(await test.isGivenUp())
        await test.stop(running)
    }

    @Test func `a reply's line is written after one refusal, and the reply is sent once`() async throws {
        let disk = FullDisk(code: EIO)
        let handler = DiskBreaker(disk)
        let test = try await PipelineUnderTest(handler, disk: disk)
        await test.append("hello", from: "c")
        let running = test.run()
        _ = await test.gateway.waitForMessages(count: 1)
        try #require(await test.isSeen { $0.contains("a conversation's line could not be written") })
        disk.full.withLock { $0 = nil }
        try #require(await test.isSeen { $0.contains("stage=reply") })
        #expect(handler.calls.withLock { $0 } == 1)
        #expect(test.gateway.messages().count == 1)
        await test.stop(running)
        let result = try StoreVerification.run(dataDirectory: test.directory.file("data")) {
            Issue.record("\($0)")
        }
        #expect((result.problems, result.lines) == (0, 2))
    }

    @Test(.timeLimit(.minutes(5)))
    func `a stop does not wait for a full disk, and warns about no delivery`() async throws {
        let disk = FullDisk()
        let test = try await PipelineUnderTest(DiskBreaker(disk), disk: disk)
        let customers = 20
        for number in 0..<customers { await test.append("hello", from: "c\(number)") }
        let running = test.run()
        _ = await test.gateway.waitForMessages(count: 1)
        try #require(await test.isSeen { $0.contains("a conversation's line could not be written") })
        // When the test's time limit cancels this task, the server's task is cancelled too; otherwise it would run
        // forever.
        await withTaskCancellationHandler {
            await test.stop(running)
        } onCancel: {
            running.cancel()
        }
        let told = test.log.lines.filter {
            $0.contains("stage=") && ($0.hasPrefix("warning") || $0.hasPrefix("error"))
        }
        #expect(told.isEmpty, "\(told)")
        let files = JournalFiles(dataDirectory: test.directory.file("data"))
        let events = try files.events { _ in true }
        #expect(events.count == customers)
        #expect(events.allSatisfy { $0.status == .pending || $0.status == .handled })
        #expect(events.allSatisfy { $0.attempts == ($0.status == .handled ? 1 : 0) })
        // Each resumes: a message that was not handled, and a reply whose end the disk refused.
        let pending = events.count { $0.status == .pending }
        #expect(events.filter { $0.status == .handled }.allSatisfy { $0.replies.count == 1 })
        let store = try Store.open(
            StoreConfiguration(directory: test.directory.file("data")), logger: test.log.logger)
        #expect(store.statistics.pendingDeliveries == pending)
        #expect(store.queuedReplyCount == events.reduce(0) { $0 + $1.replies.count { $0 == .queued } })
        await store.close()
    }

    @Test func `a sender that waits during a full disk learns that the outcome is unknown`()
        async throws
    {
        let outcomes = SendOutcomes()
        let result = try await outcomes.outcome(of: .random(), within: .seconds(3600)) {
            outcomes.cancelAll()
            return nil
        }
        #expect(result == nil)
    }

    @Test func `a transient error is logged and not counted as an attempt`() async throws {
        let disk = ShakyDisk()
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler, disk: disk)
        disk.failures.withLock { $0 = 1 }
        await test.append("first", from: "c")
        let running = test.run()
        #expect(await test.gateway.waitForMessages(count: 1).count == 1)
        #expect(handler.seen.map(\.attempt) == [1])
        #expect(test.log.lines.contains { $0.hasPrefix("error") && $0.contains("Input/output error") })
        await test.stop(running)
        let events = try JournalFiles(dataDirectory: test.directory.file("data")).events { _ in true }
        #expect(events.map(\.status) == [.handled])
        #expect(events.map(\.attempts) == [1])
    }

    @Test func `the probes of a handler that refuses every event are counted when their delivery ends`()
        async throws
    {
        let test = try await PipelineUnderTest(RefusingHandler(refusals: 2))
        await test.append("first", from: "c")
        let running = test.run()
        #expect(await test.gateway.waitForMessages(count: 1, within: .seconds(60)).count == 1)
        await test.stop(running)
        let journal = try JournalFiles(dataDirectory: test.directory.file("data")).events { _ in true }
        #expect(journal.map(\.status) == [.handled])
        #expect(journal.map(\.attempts) == [3])
    }

    @Test func `a delivery whose state cannot be stored becomes a dead letter after one call`() async throws {
        let handler = RememberingHandler()
        var test = try await PipelineUnderTest(handler)
        test.pipeline.retrySchedule.backoff.delays = Array(repeating: .milliseconds(1), count: 4)
        // A file takes the name of the folder for states, so that no state can be stored.
        try AtomicFile.write([], to: test.directory.file("data/states"))
        await test.append("hello", from: "c")
        let running = test.run()
        try #require(await test.isGivenUp())
        #expect(handler.calls.withLock { $0 } == 1)
        #expect(test.gateway.messages().isEmpty)
        await test.stop(running)
    }

    @Test func `a stop while no handler is ready costs the delivery no attempt`() async throws {
        let test = try await PipelineUnderTest(UnprovisionedHandler())
        await test.append("hello", from: "c")
        let running = test.run()
        #expect(await eventually { test.worker.current.waitingCount > 0 })
        await test.stop(running)
        let given = test.log.lines.filter { $0.contains("delivery released") }
        #expect(given.count == 1)
        #expect(
            given.allSatisfy { $0.hasPrefix("debug") && $0.contains("no handler accepts events") })
        #expect(!test.log.lines.contains { $0.contains("CancellationError") })
        let store = try Store.open(
            StoreConfiguration(directory: test.directory.file("data")), logger: test.log.logger)
        store.startRecording { try store.write($0, as: .text) }
        let delivery = await store.nextDelivery(for: ServerUnderTest.business)
        #expect(delivery?.attempt == 1)
        #expect(delivery?.isParked == false)
        await store.close()
    }
}

/// Answers with a file, and records the number of the attempt.
private final class OfferHandler: TextHandler {
    let attempts = Mutex<[Int]>([])
    private let path: String

    init(path: String) { self.path = path }

    func text(_ text: Text, _ context: Context) -> Outcome {
        attempts.withLock { $0.append(context.attempt) }
        return .handled([.text("Our offer:", files: [OutboundFile(path: path, mimeType: "application/pdf")])])
    }
}

/// Answers, and makes all later writes of conversation lines fail.
private final class DiskBreaker: TextHandler {
    let calls = Mutex(0)
    private let disk: FullDisk

    init(_ disk: FullDisk) { self.disk = disk }

    func text(_ text: Text, _ context: Context) -> Outcome {
        calls.withLock { $0 += 1 }
        disk.full.withLock { $0 = .conversations }
        return .reply("thanks")
    }
}

/// Stores a state, and answers.
private final class RememberingHandler: TextHandler {
    let calls = Mutex(0)

    func text(_ text: Text, _ context: Context) throws -> Outcome {
        calls.withLock { $0 += 1 }
        context.state.replace(with: try JSONDocument(Array(#"{"step":1}"#.utf8)).root)
        return .reply("thanks")
    }
}

extension PipelineUnderTest {
    /// Whether the log gets a line that `wanted` accepts, within ``WaitLimit``.
    fileprivate func isSeen(_ wanted: @escaping @Sendable (String) -> Bool) async -> Bool {
        await eventually { log.lines.contains(where: wanted) }
    }

    fileprivate func isGivenUp() async -> Bool { await isSeen { $0.contains("delivery failed") } }
}

/// Is unavailable for the first calls, as a service that answers 401 is.
private final class RefusingHandler: TextHandler {
    struct Refusal: HandlerUnavailableError { let reason = "the service refuses every event" }

    private let left: Mutex<Int>

    init(refusals: Int) { left = Mutex(refusals) }

    func text(_ text: Text, _ context: Context) throws -> Outcome {
        let isRefused = left.withLock { left in
            left -= 1
            return left >= 0
        }
        if isRefused { throw Refusal() }
        // A probe costs no attempt.
        #expect(context.attempt == 1)
        return .reply("accepted")
    }
}

/// A handler whose provisioning always fails.
private struct UnprovisionedHandler: TextHandler, LifecycleHandler {
    func provision(_ host: HandlerHost) async throws { throw HandlerHostError.notStored }
    func text(_ text: Text, _ context: Context) -> Outcome { .handled }
}

/// A disk that temporarily fails to open conversations.
final class ShakyDisk: StoreDisk {
    /// The number of remaining failures.
    let failures = Mutex(0)
    private let disk = SystemDisk()

    func open(_ path: String) throws(SystemError) -> File {
        let folder = Directory.parent(of: path)
        guard Directory.isDirectory(folder) else { return try File(path, for: .appending) }
        let fails = failures.withLock { failures in
            defer { failures = max(0, failures - 1) }
            return failures > 0
        }
        if fails { throw SystemError("open", code: EIO) }
        return try File(path, for: .appending)
    }

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }

    func synchronize(_ file: File) throws(SystemError) { try disk.synchronize(file) }
}

/// A disk of which one part is temporarily full.
final class FullDisk: StoreDisk {
    enum Part: Sendable { case all, journal, conversations }

    let full = Mutex<Part?>(nil)
    /// The number of refused writes.
    let refusals = Mutex(0)
    private let code: Int32
    private let disk = SystemDisk()

    init(code: Int32 = ENOSPC) { self.code = code }

    private func check(_ part: Part) throws(SystemError) {
        if let full = full.withLock({ $0 }), full == part || full == .all {
            refusals.withLock { $0 += 1 }
            throw SystemError("write", code: code)
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
