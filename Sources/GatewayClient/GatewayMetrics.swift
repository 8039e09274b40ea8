package import BalloonMetrics
import Synchronization

/// The requests to Apple's gateway: how many got which answer, and how long each took.
///
/// A cancelled request is not counted.
package final class GatewayMetrics: Sendable {
    /// The answer to a request, as a label with a closed set of values.
    package enum Answer: String, CaseIterable, Sendable {
        case ok = "200"
        case badRequest = "400"
        case unauthorized = "401"
        case forbidden = "403"
        case notFound = "404"
        case tooManyRequests = "429"
        case serverError = "500"
        case badGateway = "502"
        case serviceUnavailable = "503"
        case gatewayTimeout = "504"
        /// Another status.
        case other
        /// No answer arrived: no connection, a timeout or a broken answer.
        case none

        init(status: Int?) {
            guard let status else {
                self = .none
                return
            }
            self = (200..<300).contains(status) ? .ok : Answer(rawValue: "\(status)") ?? .other
        }
    }

    private let answers = Mutex<[GatewayCall: [Answer: UInt64]]>([:])
    private let durations: [GatewayCall: Histogram] = Dictionary(
        uniqueKeysWithValues: GatewayCall.allCases.map { ($0, Histogram(.nanoseconds)) })

    init() {}

    /// Counts a request; `status` is nil when no answer arrived.
    func record(_ call: GatewayCall, _ status: Int?, nanoseconds: UInt64) {
        answers.withLock { $0[call, default: [:]][Answer(status: status), default: 0] &+= 1 }
        durations[call]?.record(nanoseconds)
    }

    /// The number of requests by each type and answer, also by those that did not occur yet.
    package var counts: [(call: GatewayCall, answer: Answer, count: UInt64)] {
        let counts = answers.withLock { $0 }
        return GatewayCall.allCases.flatMap { call in
            Answer.allCases.map { (call, $0, counts[call]?[$0] ?? 0) }
        }
    }

    /// The durations from the start of a request to its complete answer, for each type with at least one
    /// request.
    package var durationsByCall: [(call: GatewayCall, durations: Histogram.Snapshot)] {
        GatewayCall.allCases.compactMap { call in
            guard let snapshot = durations[call]?.snapshot, snapshot.count > 0 else { return nil }
            return (call, snapshot)
        }
    }
}
