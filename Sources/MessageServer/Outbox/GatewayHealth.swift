import BalloonPOSIX
import BusinessMessages
import MessageStore

/// Decides from the gateway's answers whether replies are sent, and which reply probes the gateway.
///
/// It is a value without side effects.
///
/// ```
///              401/403, also with a fresh token            neither is accepted
///   sending ───────────────────────────────────> asking ─────────────────────────> paused
///      ^                                          │  │                               │
///      │   another conversation of the business   │  │  another business is accepted │
///      ├── is accepted: the reply is tried again ─┘  └─ the business is paused       │
///      └──────────────────────── a reply is accepted ────────────────────────────────┘
/// ```
///
/// A reply that got a 401 or 403 becomes a dead letter only when it is refused again after a reply of another
/// conversation was accepted. If the credential is repaired between the attempts, for example by setting the
/// clock, no reply becomes a dead letter.
///
/// An outage at twenty consecutive replies of several conversations also leads from sending to paused. While
/// sending is paused, one reply at a time is sent as a probe, with 1 to 60 s between two probes. If possible,
/// each probe is from another conversation.
struct GatewayHealth: Sendable {
    /// A 401 or 403 whose cause is unknown: the reply, the business or the credential.
    private struct Question: Sendable {
        let suspect: Attempt
        let status: Int
        let reason: String
        var asksOtherBusinesses = false
        var isProbing = false
        /// The number of probes so far whose result did not answer the question.
        var inconclusive = 0
    }

    private enum Phase: Sendable {
        case sending
        case asking(Question)
        case paused(OutboxPause)

        var isSending: Bool { if case .sending = self { true } else { false } }
    }

    private struct Acceptance: Sendable {
        let customer: CustomerID
        let begunAt: Timestamp
    }

    static let maximumFailures = 20
    private static let minimumFailingConversations = 2
    /// The number of inconclusive probes after which the question is decided as if a probe had got a 401 or
    /// 403.
    private static let maximumInconclusive = 3
    /// The time for which an accepted reply proves that the credential is valid.
    private static let evidenceLifetime = Duration.seconds(60)
    /// The maximum number of replies whose latest 401 or 403 is remembered.
    private static let maximumRefusals = 256

    private var phase = Phase.sending
    private var pausedBusinesses: [BusinessID: OutboxPause] = [:]
    private var failures = 0
    private var failingConversations: Set<Attempt.Conversation> = []
    private var refusals: [ReplyID: Timestamp] = [:]
    private var acceptances: [BusinessID: Acceptance] = [:]

    /// Returns the reply to lease now, or the time to wait; called before every lease.
    mutating func next(at now: Timestamp) -> Next {
        switch phase {
        case .asking(let question):
            guard !question.isProbing else { return .wait(until: nextReport) }
            let suspect = question.suspect
            let selection: OutboxSelection =
                question.asksOtherBusinesses
                ? .anotherBusiness(than: Set(pausedBusinesses.keys).union([suspect.business]))
                : .anotherConversation(of: suspect.business, than: suspect.customer)
            return .lease(selection, probe: .question)
        case .paused(let pause):
            guard !pause.isProbing else { return .wait(until: nextReport) }
            guard pause.probeAt <= now else { return .wait(until: earliest(pause.probeAt, nextReport)) }
            return .lease(.probe(excludingBusinesses: Set(pausedBusinesses.keys)), probe: .pause)
        case .sending:
            guard !pausedBusinesses.isEmpty else { return .lease(.any(), probe: nil) }
            let due = pausedBusinesses.first { !$0.value.isProbing && $0.value.probeAt <= now }
            if let due {
                return .lease(.anotherConversation(of: due.key, than: nil), probe: .business(due.key))
            }
            return .lease(.any(excludingBusinesses: Set(pausedBusinesses.keys)), probe: nil)
        }
    }

    /// The time of the next check if no attempt ends and no reply is added before; nil when none is needed.
    var nextLook: Timestamp? {
        var next = nextReport
        if case .paused(let pause) = phase, !pause.isProbing { next = earliest(next, pause.probeAt) }
        if case .sending = phase {
            for pause in pausedBusinesses.values where !pause.isProbing {
                next = earliest(next, pause.probeAt)
            }
        }
        return next
    }

    /// Records that a reply was leased for this probe; does nothing without a probe.
    mutating func begin(_ probe: Probe?) {
        switch (probe, phase) {
        case (nil, _): break
        case (.question, .asking(var question)):
            question.isProbing = true
            phase = .asking(question)
        case (.pause, .paused(var pause)):
            pause.isProbing = true
            phase = .paused(pause)
        case (.business(let business), _): pausedBusinesses[business]?.isProbing = true
        // The phase has changed since the lease, so the attempt is no longer a probe.
        case (.question, _), (.pause, _): break
        }
    }

    /// Records that no reply was available for this probe, and returns the actions that follow from it.
    mutating func foundNothing(for probe: Probe, at now: Timestamp) -> [Action] {
        switch (probe, phase) {
        case (.question, .asking(var question)):
            guard question.asksOtherBusinesses else {
                question.asksOtherBusinesses = true
                phase = .asking(question)
                return []
            }
            return pause(after: question, at: now)
        case (.pause, .paused(var pause)):
            pause.backOff(at: now)
            phase = .paused(pause)
        case (.business(let business), _): pausedBusinesses[business]?.backOff(at: now)
        case (.question, _), (.pause, _): break
        }
        return []
    }

    /// Processes the result of an attempt, and returns the actions that follow from it.
    mutating func decide(_ attempt: Attempt, _ answer: Answer, at now: Timestamp) -> [Action] {
        switch answer {
        case .accepted, .messageRefused, .credentialRefused: (failures, failingConversations) = (0, [])
        case .outage: countFailure(attempt)
        case .unsent: break
        }
        if case .accepted = answer { remember(attempt) }
        switch (attempt.probe, phase) {
        case (.question, .asking(let question)) where question.isProbing:
            return decide(question, attempt, answer, at: now)
        case (.pause, .paused(let pause)) where pause.isProbing:
            return decide(pause, attempt, answer, at: now)
        case (.business(let business), _) where pausedBusinesses[business]?.isProbing == true:
            return decide(business, attempt, answer, at: now)
        default: return decide(attempt, answer, at: now, isSending: phase.isSending)
        }
    }

    /// Processes the result of an attempt that was not a probe.
    private mutating func decide(
        _ attempt: Attempt, _ answer: Answer, at now: Timestamp, isSending: Bool
    ) -> [Action] {
        switch answer {
        case .accepted, .messageRefused, .unsent: return []
        case .outage(let reason, _):
            let isOutage =
                failures >= Self.maximumFailures
                && failingConversations.count >= Self.minimumFailingConversations
            if isSending, isOutage { phase = .paused(OutboxPause(.outage(reason: reason), at: now)) }
            return []
        case .credentialRefused(let status, let reason):
            let isAboutMessage = isAboutMessage(attempt, at: now)
            recordRefusal(of: attempt, at: now)
            if isAboutMessage {
                refusals[attempt.id] = nil
                return [.refuse(attempt.id, status: status, reason: reason)]
            }
            guard isSending, pausedBusinesses[attempt.business] == nil else { return [.release(attempt.id)] }
            phase = .asking(Question(suspect: attempt, status: status, reason: reason))
            return [.hold(attempt.id)]
        }
    }

    private mutating func decide(
        _ question: Question, _ attempt: Attempt, _ answer: Answer, at now: Timestamp
    ) -> [Action] {
        var question = question
        question.isProbing = false
        let suspect = question.suspect
        switch answer {
        case .accepted where question.asksOtherBusinesses:
            phase = .sending
            pausedBusinesses[suspect.business] = OutboxPause(
                .refused(status: question.status, reason: question.reason), at: now)
            return [.release(suspect.id)]
        case .accepted:
            phase = .sending
            return [.release(suspect.id)]
        case .credentialRefused:
            recordRefusal(of: attempt, at: now)
            guard question.asksOtherBusinesses else {
                question.asksOtherBusinesses = true
                question.inconclusive = 0
                phase = .asking(question)
                return [.release(attempt.id)]
            }
            return [.release(attempt.id)] + pause(after: question, at: now)
        case .outage, .messageRefused, .unsent:
            question.inconclusive += 1
            if question.inconclusive >= Self.maximumInconclusive {
                if question.asksOtherBusinesses { return pause(after: question, at: now) }
                question.asksOtherBusinesses = true
                question.inconclusive = 0
            }
            phase = .asking(question)
            return []
        }
    }

    private mutating func decide(
        _ pause: OutboxPause, _ attempt: Attempt, _ answer: Answer, at now: Timestamp
    ) -> [Action] {
        var pause = pause
        defer { if case .paused = phase { phase = .paused(pause) } }
        switch answer {
        case .accepted:
            phase = .sending
            return [.resumed(nil)]
        case .messageRefused:
            // The gateway works, but it may have refused the message before it checked the credential.
            if case .outage = pause.cause {
                phase = .sending
                return [.resumed(nil)]
            }
            pause.backOff(at: now)
        case .credentialRefused(let status, let reason):
            recordRefusal(of: attempt, at: now)
            pause.cause = .refused(status: status, reason: reason)
            pause.backOff(at: now)
            return [.release(attempt.id)]
        case .outage(let reason, let retryAfter):
            pause.cause = .outage(reason: reason)
            pause.backOff(at: now, atLeast: retryAfter)
        case .unsent: pause.probeAgain(at: now)
        }
        return []
    }

    private mutating func decide(
        _ business: BusinessID, _ attempt: Attempt, _ answer: Answer, at now: Timestamp
    ) -> [Action] {
        switch answer {
        case .accepted:
            pausedBusinesses[business] = nil
            return [.resumed(business)]
        case .credentialRefused:
            recordRefusal(of: attempt, at: now)
            pausedBusinesses[business]?.backOff(at: now)
            return [.release(attempt.id)]
        case .outage(_, let retryAfter):
            pausedBusinesses[business]?.backOff(at: now, atLeast: retryAfter)
            return decide(attempt, answer, at: now, isSending: phase.isSending)
        case .messageRefused: pausedBusinesses[business]?.backOff(at: now)
        case .unsent: pausedBusinesses[business]?.probeAgain(at: now)
        }
        return []
    }

    /// Pauses sending for all businesses, because no business's reply was accepted.
    ///
    /// The credential is invalid, or a proxy refuses the requests before they reach Apple.
    private mutating func pause(after question: Question, at now: Timestamp) -> [Action] {
        phase = .paused(OutboxPause(.refused(status: question.status, reason: question.reason), at: now))
        return [.release(question.suspect.id)]
    }

    /// Whether a reply was refused both before and after the gateway accepted a reply of another conversation
    /// of the business.
    ///
    /// Without this check, one refused reply would pause all replies again at each of its attempts when few
    /// other replies are sent.
    private func isAboutMessage(_ attempt: Attempt, at now: Timestamp) -> Bool {
        guard let earlier = refusals[attempt.id], let acceptance = acceptances[attempt.business],
            acceptance.customer != attempt.customer
        else { return false }
        return earlier <= acceptance.begunAt
            && now <= acceptance.begunAt.advanced(by: Self.evidenceLifetime)
    }

    /// Records an accepted attempt if any refusals are remembered to compare it with.
    private mutating func remember(_ attempt: Attempt) {
        refusals[attempt.id] = nil
        if refusals.isEmpty {
            acceptances = [:]
        } else {
            acceptances[attempt.business] = Acceptance(customer: attempt.customer, begunAt: attempt.begunAt)
        }
    }

    private mutating func recordRefusal(of attempt: Attempt, at now: Timestamp) {
        // A reply whose refusal is dropped here is treated as refused for the first time at its next 401 or
        // 403.
        if refusals.count >= Self.maximumRefusals { refusals = [:] }
        refusals[attempt.id] = now
    }

    private mutating func countFailure(_ attempt: Attempt) {
        failures = min(failures + 1, Self.maximumFailures)
        if failingConversations.count < Self.minimumFailingConversations {
            failingConversations.insert(attempt.conversation)
        }
    }
}

extension GatewayHealth {
    /// A pause of sending that is in effect.
    struct Report: Sendable, Equatable {
        /// The paused business; nil when sending is paused for all businesses.
        let business: BusinessID?
        let cause: OutboxPause.Cause
        let since: Timestamp
    }

    /// All pauses in effect; a pause of all businesses is the first.
    var pauses: [Report] {
        var reports: [Report] = []
        if case .paused(let pause) = phase {
            reports.append(Report(business: nil, cause: pause.cause, since: pause.since))
        }
        return reports
            + pausedBusinesses.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { Report(business: $0.key, cause: $0.value.cause, since: $0.value.since) }
    }

    /// Returns the pauses that are due for a log line, and marks them as reported; each is due once a minute.
    mutating func reports(at now: Timestamp) -> [Report] {
        var due: [Report] = []
        if case .paused(var pause) = phase, pause.isReportDue(at: now) {
            phase = .paused(pause)
            due.append(Report(business: nil, cause: pause.cause, since: pause.since))
        }
        for (business, pause) in pausedBusinesses where pause.nextReport <= now {
            guard pausedBusinesses[business]?.isReportDue(at: now) == true else { continue }
            due.append(Report(business: business, cause: pause.cause, since: pause.since))
        }
        return due
    }

    private var nextReport: Timestamp? {
        var next = pausedBusinesses.values.map(\.nextReport).min()
        if case .paused(let pause) = phase { next = earliest(next, pause.nextReport) }
        return next
    }
}

private func earliest(_ one: Timestamp?, _ other: Timestamp?) -> Timestamp? {
    guard let one, let other else { return one ?? other }
    return min(one, other)
}
