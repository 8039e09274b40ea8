import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import RetentionMessages
import Synchronization

/// One performance test of an address that answers the App Store's questions, with Apple's names.
///
/// The settings are those of a test fixture in Apple's App Store Server libraries.
package final class PerformanceTest: Sendable {
    /// The limits of a test.
    package struct Settings: Sendable, Equatable {
        package var maximumConcurrentRequests = 10
        package var totalRequests = 100
        package var totalDuration = Duration.seconds(60)
        package var responseTimeThreshold = Duration.milliseconds(500)
        /// The percentage of questions that must be answered in time.
        package var successRateThreshold = 95

        package init() {}
    }

    /// The reason why a question counts as failed.
    package enum Failure: String, Sendable, CaseIterable {
        case timedOut = "TIMED_OUT"
        case tls = "TLS_ISSUE"
        case circularRedirect = "CIRCULAR_REDIRECT"
        case noResponse = "NO_RESPONSE"
        case socket = "SOCKET_ISSUE"
        case unsupportedCharset = "UNSUPPORTED_CHARSET"
        case invalidResponse = "INVALID_RESPONSE"
        case prematureClose = "PREMATURE_CLOSE"
        case status = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        case other = "OTHER"
    }

    /// The result of one question.
    package struct Sample: Sendable, Equatable {
        package let time: Duration
        package let failure: Failure?
        /// Whether a usable answer names no message, so that the App Store shows the default message.
        package var isEmpty = false
    }

    private struct State {
        var samples: [Sample] = []
        var next = 0
        var isEnded = false
    }

    package let settings: Settings
    private let target: String
    private let state = Mutex(State())

    package init(of target: String, _ settings: Settings = Settings()) {
        self.target = target
        self.settings = settings
    }

    /// Whether the last question has ended.
    package var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Calls `ask` with the number of each question, from 0.
    ///
    /// At most ten questions are in flight at a time, and no question is asked after the first minute.
    func run(_ ask: @escaping @Sendable (Int) async -> Sample) async {
        let end = ContinuousClock.now + settings.totalDuration
        await withDiscardingTaskGroup { group in
            for _ in 0..<settings.maximumConcurrentRequests {
                group.addTask {
                    while ContinuousClock.now < end, !Task.isCancelled, let number = self.nextNumber() {
                        let sample = await ask(number)
                        self.state.withLock { $0.samples.append(sample) }
                    }
                }
            }
        }
        state.withLock { $0.isEnded = true }
    }

    private func nextNumber() -> Int? {
        state.withLock { state in
            guard state.next < settings.totalRequests else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    /// Whether the test has passed.
    package var isPassed: Bool { isEnded && successRate >= settings.successRateThreshold }

    private var successRate: Int {
        let samples = state.withLock { $0.samples }
        return samples.count { $0.failure == nil } * 100 / settings.totalRequests
    }

    /// Writes the member `config` of the answer to "Initiate Performance Test".
    func writeSettings(to writer: inout JSONWriter) {
        writer.field(
            "config",
            JSONObject([
                "maxConcurrentRequests": settings.maximumConcurrentRequests,
                "totalRequests": settings.totalRequests,
                "totalDuration": Int(settings.totalDuration / .milliseconds(1)),
                "responseTimeThreshold": Int(settings.responseTimeThreshold / .milliseconds(1)),
                "successRateThreshold": settings.successRateThreshold,
            ]))
    }

    /// The answer to "Get Performance Test Results".
    var result: [UInt8] {
        let (samples, isEnded) = state.withLock { ($0.samples, $0.isEnded) }
        let times = samples.map { Int($0.time / .milliseconds(1)) }.sorted()
        let failures = Dictionary(samples.compactMap(\.failure).map { ($0, 1) }, uniquingKeysWith: +)
        return JSONWriter.object { writer in
            writeSettings(to: &writer)
            // Apple's result has no `emptyAnswers`: an empty answer is a success for Apple.
            writer.fields([
                "target": target, "result": isEnded ? (isPassed ? "PASS" : "FAIL") : "PENDING",
                "successRate": successRate, "numPending": settings.totalRequests - samples.count,
                "responseTimes": JSONObject([
                    "average": times.isEmpty ? 0 : times.reduce(0, +) / times.count,
                    "p50": Self.percentile(50, of: times), "p90": Self.percentile(90, of: times),
                    "p95": Self.percentile(95, of: times), "p99": Self.percentile(99, of: times),
                ]), "emptyAnswers": samples.count { $0.isEmpty },
            ])
            writer.object("failures") { writer in
                for failure in Failure.allCases { writer.field(failure.rawValue, failures[failure]) }
            }
        }
    }

    /// The percentile of sorted values by the nearest rank; 0 without values.
    static func percentile(_ percentile: Int, of sorted: [Int]) -> Int {
        guard !sorted.isEmpty else { return 0 }
        let rank = (sorted.count * percentile + 99) / 100
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// The reason why the App Store cannot use the result of a request; nil for a usable answer.
    ///
    /// `isKnown` says whether a message can be shown. An empty object is usable: the App Store then shows the
    /// default message.
    static func failure(
        of exchange: Result<TransportResponse, TransportError>, at url: String, isKnown: (RetentionID) -> Bool
    ) -> Failure? {
        switch exchange {
        case .failure(let error): failure(of: error)
        case .success(let response): failure(of: response, at: url, isKnown: isKnown)
        }
    }

    /// Whether an answer without a failure names no message.
    static func isEmpty(_ exchange: Result<TransportResponse, TransportError>) -> Bool {
        // Only an answer that is JSON has no failure.
        guard case .success(let response) = exchange, let root = (try? JSONDocument(response.body))?.root
        else { return false }
        return message(in: root) == nil
    }

    private static func failure(of error: TransportError) -> Failure {
        switch error {
        case .timedOut: .timedOut
        case .tlsFailed, .certificateRefused: .tls
        case .hostUnresolved, .addressRefused, .connectionFailed: .socket
        // libcurl's CURLE_GOT_NOTHING: the connection closed before the first byte.
        case .interrupted(code: 52): .noResponse
        case .interrupted: .prematureClose
        case .responseTooLarge, .contentFailed: .invalidResponse
        case .requestInvalid, .schemeRefused, .cancelled, .failed: .other
        }
    }

    private static func failure(
        of response: TransportResponse, at url: String, isKnown: (RetentionID) -> Bool
    ) -> Failure? {
        if (300..<400).contains(response.status), response.header("location") == url {
            return .circularRedirect
        }
        guard response.status == 200 else { return .status }
        let type = response.header("content-type")?.lowercased() ?? ""
        if let charset = type.split(separator: "charset=").dropFirst().first,
            !charset.hasPrefix("utf-8"), !charset.hasPrefix("\"utf-8")
        {
            return .unsupportedCharset
        }
        guard let root = (try? JSONDocument(response.body))?.root, root.kind == .object else {
            return .invalidResponse
        }
        if root.count == 0 || (root.count == 1 && root["advancedCommerceInfo"] != nil) { return nil }
        guard root.count == 1, let id = message(in: root), isKnown(id) else { return .invalidResponse }
        return nil
    }

    /// The message that an answer names; nil for an answer without a message.
    static func message(in root: JSONValue) -> RetentionID? {
        for name in ["message", "alternateProduct", "promotionalOffer"] {
            if let id = root[name]?["messageIdentifier"]?.string { return RetentionID(id) }
        }
        return nil
    }
}
