import BalloonPOSIX
import BusinessMessages
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import MessageStore

/// Reading the whole journal delays no other caller.
struct JournalReadingTests {
    let directory = StoreDirectory()

    @Test(arguments: [4096, 1000, 333], [UInt8(ascii: "\n"), 0])
    func `lines that a running server writes while the journal is read are not reported as damage`(
        stepBytes: Int, prepared: UInt8
    )
        async throws
    {
        let store = try directory.open()
        for number in 1...40 { #expect(await store.append(message("\(number)")) == .stored) }
        await store.close()
        let name = try #require(Directory.names(in: directory.journal).min())
        let segment = try File(directory.journal + "/" + name, for: .reading).readAll()
        let end = (segment.lastIndex(of: UInt8(ascii: "\n")) ?? 0) + 1
        let early = (segment[..<(end / 4)].lastIndex(of: UInt8(ascii: "\n")) ?? 0) + 1
        let earlyLines = segment[..<early].count { $0 == UInt8(ascii: "\n") }
        let path = directory.path + "/growing.jsonl"
        try AtomicFile.write(Array(segment[..<early]) + repeatElement(prepared, count: end - early), to: path)
        var lines = SegmentLines(
            try File(path, for: .reading), firstRecord: 1, abandoned: AbandonedRecords(),
            stepBytes: stepBytes)
        var records: [UInt64] = []
        while let line = try lines.next() {
            records.append(line.record)
            guard records.count == earlyLines else { continue }
            // The reader has read the bytes that follow as they were prepared; now they get their lines.
            try File(path, for: .overwriting).write(Array(segment[..<end]), at: 0)
        }
        #expect(records == Array(1...UInt64(records.count)))
        #expect(records.count >= 40)
        #expect(lines.scan.verdict == .sound)
        #expect(lines.scan.brokenPieces == 0)
    }

    @Test func `deliveries continue while many callers read the journal`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("dead")) == .stored)
        let dead = try await store.lease()
        try await store.finish(dead, result: .failed(reason: "no use"))
        // Opening this pipe blocks until the other end is opened.
        let obstacle = directory.journal + "/000000000000.jsonl"
        #expect(mkfifo(obstacle, 0o600) == 0)
        let isReleased = Atomic(false)
        let release: @Sendable () -> Void = {
            if isReleased.exchange(true, ordering: .relaxed) { return }
            // Opens both ends, so that later calls do not block.
            _ = open(obstacle, O_RDWR)
        }
        let readers = (0..<16).map { number in
            Task {
                switch number % 3 {
                case 0: _ = try? await store.replay([dead.record])
                case 1: try? await store.drop([dead.record])
                default: _ = try? await store.rebuild()
                }
            }
        }
        DispatchQueue(label: "test.late").asyncAfter(deadline: .now() + .seconds(120), execute: release)
        for number in 0..<20 {
            #expect(await store.append(message("\(number)")) == .stored)
            let delivery = try await store.lease()
            try await store.finish(delivery, result: .handled)
        }
        let isLate = isReleased.load(ordering: .relaxed)
        #expect(!isLate, "the readers held the deliveries up")
        release()
        for reader in readers { await reader.value }
        await store.close()
    }
}
