import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import Dispatch
import Synchronization

/// The changes that commands asked for, each with the identifier that its command chose.
///
/// A job runs to its end whatever becomes of the connection that began it. A request for a job that still runs is answered
/// with 202 before the listener's time for answers is over, and the command asks again with `GET /jobs/ID`: so no command
/// reports a failure while its change may still be made. A second request with the same identifier waits for the same job.
/// The answers of the last jobs are kept for that.
final class ControlJobs: Sendable {
    /// A request that waits for the end of a job.
    private struct Waiter {
        let id: Int
        let responder: HTTPResponder
    }

    private struct Job {
        /// Nil while it runs.
        var answer: HTTPResponse?
        var waiters: [Waiter] = []
    }

    private struct State {
        var jobs: [String: Job] = [:]
        /// The jobs that ended, oldest first.
        var ended: [String] = []
        var lastWaiter = 0
    }

    /// How many answers are kept.
    private static let keptAnswers = 64
    /// How many may run.
    private static let maximumRunning = 64
    /// How long a request waits; shorter than ``HTTPLimits/answerTimeout``.
    private let patience: Duration
    private let state = Mutex(State())
    private let timers = DispatchQueue(label: "balloon.jobs")

    init(patience: Duration = .seconds(20)) { self.patience = patience }

    /// Begins a job unless one with this identifier is known, and answers when it ends, or 202.
    ///
    /// The answer is 503 while too many run.
    func run(_ id: String, _ responder: HTTPResponder, _ work: @escaping @Sendable () async -> HTTPResponse) {
        let begins = state.withLock { state -> Bool? in
            if state.jobs[id] != nil { return false }
            guard state.jobs.count - state.ended.count < Self.maximumRunning else { return nil }
            state.jobs[id] = Job()
            return true
        }
        guard let begins else {
            return responder.respond(
                HTTPResponse(.serviceUnavailable, text: "too many changes are being made\n"))
        }
        wait(for: id, responder)
        // No shard waits for the journal.
        if begins { Task { @concurrent in end(id, with: await work()) } }
    }

    /// Answers when a job ends, or 202; 404 when no job has this identifier.
    func wait(for id: String, _ responder: HTTPResponder) {
        let (waiter, answer) = state.withLock { state -> (Int, HTTPResponse?) in
            guard let job = state.jobs[id] else {
                return (0, HTTPResponse(.notFound, text: "no job has this identifier\n"))
            }
            if let answer = job.answer { return (0, answer) }
            state.lastWaiter += 1
            state.jobs[id]?.waiters.append(Waiter(id: state.lastWaiter, responder: responder))
            return (state.lastWaiter, nil)
        }
        if let answer { return responder.respond(answer) }
        timers.asyncAfter(deadline: .now() + patience.dispatchInterval) { [weak self] in
            self?.expire(waiter, of: id)
        }
    }

    private func expire(_ waiter: Int, of id: String) {
        let responder = state.withLock { state -> HTTPResponder? in
            guard let index = state.jobs[id]?.waiters.firstIndex(where: { $0.id == waiter }) else {
                return nil
            }
            return state.jobs[id]?.waiters.remove(at: index).responder
        }
        let json = JSONWriter.object { $0.field("job", id) }
        responder?.respond(HTTPResponse(.accepted, json: json))
    }

    private func end(_ id: String, with answer: HTTPResponse) {
        let waiters = state.withLock { state in
            let waiters = state.jobs[id]?.waiters ?? []
            state.jobs[id] = Job(answer: answer)
            state.ended.append(id)
            if state.ended.count > Self.keptAnswers { state.jobs[state.ended.removeFirst()] = nil }
            return waiters
        }
        for waiter in waiters { waiter.responder.respond(answer) }
    }

    /// The identifier in a request's body, or a new one; nil when it is not one.
    static func id(in json: [UInt8]) -> String? {
        // A body that is no JSON has no identifier.
        guard let id = (try? JSONDocument(json))?.root["job"] else { return newID() }
        return id.string.flatMap { isID($0) ? $0 : nil }
    }

    /// Whether a text may name a job: 1 to 64 digits and lower-case letters.
    static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7a).contains($0) }
    }

    /// An identifier that no other job has.
    static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }
}
