import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import GatewayClient
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

struct CrashLimitTests {
    /// `!` marks a delivery that ran alone when the process crashed, `R` a message that was recorded alone.
    @Test(arguments: ["!", "R"])
    func `a message that alone crashed the process three times is not decoded, fetched or handled again`(
        _ step: String
    ) async throws {
        let directory = TemporaryDirectory()
        let data = directory.file("data")
        do {
            let test = try await PipelineUnderTest(RecordingHandler(), in: directory)
            let file = try await test.pipelines.gateway.upload(
                ContentSource(bytes: [1, 2, 3]), for: ServerUnderTest.business)
            let attachment = String(
                decoding: file.attachment(name: "a.jpg", mimeType: "image/jpeg").json, as: UTF8.self)
            await test.append("Look: \u{FFFC}", from: "c", attachments: "[\(attachment)]")
            test.store.stopLeasing()
            test.worker.current.stopWaiting()
            await test.worker.current.shutdown()
            await test.store.close()
            await test.gateway.stop()
        }
        let record = try #require(try JournalFiles(dataDirectory: data).events { _ in true }.first).record
        let digits = "\(record)"
        let line = step + String(repeating: "0", count: 18 - digits.count) + digits + "\n"
        // The file `calls` as a process leaves it that crashes while it processes the message alone.
        for _ in 1...2 {
            try AtomicFile.write(Array(line.utf8), to: data + "/calls")
            let store = try Store.open(StoreConfiguration(directory: data), logger: LogCollector().logger)
            await store.close()
        }
        try AtomicFile.write(Array(line.utf8), to: data + "/calls")
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler, in: directory)
        let running = test.run()
        await test.stages.first { $0.stage == .finish }
        await test.stop(running)
        #expect(handler.seen.isEmpty)
        #expect(!test.stages.events.contains { $0.stage == .fetch || $0.stage == .decode })
        let dead = try JournalFiles(dataDirectory: data).events { $0.isDeadLetter }
        #expect(dead.map(\.record) == [record])
        #expect(dead.first?.reason?.contains("crashed three times") == true)
    }
}
