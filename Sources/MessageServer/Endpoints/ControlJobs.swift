import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import Dispatch
import Synchronization

/// The changes requested by commands, each with an identifier chosen by its command.
///
/// A job runs to its end even when its connection closes. A request for a running job is answered with 202
/// before the answer timeout, and the command then calls `GET /jobs/ID`. A command therefore never reports a
/// failure of a change that may still succeed. A second request with the same identifier waits for the same
/// job, or gets its answer: the answers of the latest jobs are kept.
final class ControlJobs: Sendable {
    private struct Job {
        /// Nil while the job runs.
        var answer: HTTPResponse?
        /// The requests that wait for the end of the job, by number.
        var waiters: [Int: HTTPResponder] = [:]
    }

    private struct State {
        var jobs: [String: Job] = [:]
        /// The identifiers of the ended jobs, oldest first.
        var ended = Deque<String>()
        var lastWaiter = 0
    }

    /// The number of ended jobs whose answers are kept.
    private static let keptAnswers = 64
    /// The maximum number of running jobs.
    private static let maximumRunning = 64
    /// The maximum wait of a request; shorter than ``HTTPLimits/answerTimeout``.
    private let patience: Duration
    private let state = Mutex(State())
    private let timers = DispatchQueue(label: "balloon.jobs")

    init(patience: Duration = .seconds(20)) { self.patience = patience }

    /// Starts a job, unless one with this identifier is known, and answers with its result.
    ///
    /// Answers 202 when the job does not end within the maximum wait, and 503 while too many jobs run.
    func run(_ id: String, _ responder: HTTPResponder, _ work: @escaping @Sendable () async -> HTTPResponse) {
        let begins = state.withLock { state -> Bool? in
            if state.jobs[id] != nil { return false }
            guard state.jobs.count - state.ended.count < Self.maximumRunning else { return nil }
            state.jobs[id] = Job()
            return true
        }
        guard let begins else {
            return responder.respond(
                HTTPResponse(.serviceUnavailable, text: "too many running jobs\n"))
        }
        wait(for: id, responder)
        // Runs outside the shard, which must not wait for the journal.
        if begins { Task { @concurrent in end(id, with: await work()) } }
    }

    /// Answers with a job's result, or with 202 after the maximum wait; 404 when no job has this identifier.
    func wait(for id: String, _ responder: HTTPResponder) {
        let (waiter, answer) = state.withLock { state -> (Int, HTTPResponse?) in
            guard let job = state.jobs[id] else {
                return (0, HTTPResponse(.notFound, text: "no job has this identifier\n"))
            }
            if let answer = job.answer { return (0, answer) }
            state.lastWaiter += 1
            state.jobs[id]?.waiters[state.lastWaiter] = responder
            return (state.lastWaiter, nil)
        }
        if let answer { return responder.respond(answer) }
        timers.asyncAfter(deadline: .now() + patience.dispatchInterval) { [weak self] in
            self?.expire(waiter, of: id)
        }
    }

    private func expire(_ waiter: Int, of id: String) {
        let responder = state.withLock { $0.jobs[id]?.waiters.removeValue(forKey: waiter) }
        let json = JSONWriter.object(["job": id])
        responder?.respond(HTTPResponse(.accepted, json: json))
    }

    private func end(_ id: String, with answer: HTTPResponse) {
        let waiters = state.withLock { state in
            let waiters = state.jobs[id]?.waiters ?? [:]
            state.jobs[id] = Job(answer: answer)
            state.ended.append(id)
            if state.ended.count > Self.keptAnswers, let oldest = state.ended.popFirst() {
                state.jobs[oldest] = nil
            }
            return waiters
        }
        for waiter in waiters.values { waiter.respond(answer) }
    }

    /// Returns the identifier in a request's body, or a new one if the body has none; nil for an invalid
    /// identifier.
    static func id(in json: [UInt8]) -> String? {
        // A body that is not JSON has no identifier.
        guard let id = (try? JSONDocument(json))?.root["job"] else { return newID() }
        return id.string.flatMap { isID($0) ? $0 : nil }
    }

    /// Whether a text is a valid identifier: 1 to 64 digits and lower-case letters.
    static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7a).contains($0) }
    }

    /// A random identifier, which no other job has.
    static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }
}
