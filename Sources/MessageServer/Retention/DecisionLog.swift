import BalloonJSON
import BalloonPOSIX
import Logging
import RetentionMessages

/// The decisions about questions of the App Store, as JSON lines in
/// `DATA/retention/SLUG/decisions-YYYY-MM-DD.jsonl`.
///
/// A line has neither the subscription nor the question's identifier. One task writes the lines, after the
/// answers were decided. While 10,000 decisions wait for the disk, further decisions are dropped.
struct DecisionLog: Sendable {
    /// One decision.
    struct Decision: Sendable, Equatable {
        let slug: String
        let environment: RetentionEnvironment
        let product: ProductID
        let locale: StoreLocale
        /// The type and the message of the answer; nil without an answer.
        let answer: String?
        /// The source of the answer: `handler`, `rule` or `none`.
        let source: String
        /// The reason why the handler's decision was not used; nil without a failure or without a handler.
        let failure: RetentionResponder.Failure?
        let milliseconds: Int
        let at: Timestamp

        var line: [UInt8] {
            JSONWriter.object([
                "at": at.rfc3339, "environment": environment.name, "product": product.text,
                "locale": locale.code, "answer": answer, "source": source, "handler": failure?.rawValue,
                "milliseconds": milliseconds,
            ])
        }
    }

    private static let maximumWaiting = 10_000
    let files: DayFiles
    private let logger: Logger
    private let decisions = AsyncStream.makeStream(
        of: Decision.self, bufferingPolicy: .bufferingOldest(DecisionLog.maximumWaiting))

    init(dataDirectory: String, logger: Logger) {
        files = DayFiles(directory: dataDirectory + "/retention", prefix: "decisions-")
        self.logger = logger
    }

    /// Queues a decision; never waits.
    func append(_ decision: Decision) { decisions.continuation.yield(decision) }

    /// Makes ``run()`` return as soon as the queued decisions are written.
    func finish() { decisions.continuation.finish() }

    /// Writes decisions until the log is finished; blocks its thread while it writes.
    func run() async {
        for await decision in decisions.stream {
            do { try files.append(decision.line, at: decision.at, decision.slug) } catch {
                logger.warning(
                    "an answer to the App Store could not be recorded; it was sent",
                    metadata: ["app": "\(decision.slug)", "error": "\(error)"])
            }
        }
    }
}
