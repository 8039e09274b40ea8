import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

struct AssignmentLinesTests {
    /// A store that refuses as long as it is full, and answers each other line when it is told.
    private final class FullStore: Sendable {
        private struct State {
            var isFull = false
            var changes: [Store.AssignedConversation] = []
            var lines: [UInt64] = []
            var answers: [@Sendable () -> Void] = []
            var timers: [@Sendable () -> Void] = []
            var refusals = 0
        }

        private let state = Mutex(State())
        var lines: [UInt64] { state.withLock(\.lines) }
        var timerCount: Int { state.withLock(\.timers.count) }
        var refusals: Int { state.withLock(\.refusals) }

        func fill(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

        /// Answers the appended lines: each was stored, or all were refused after all.
        func answer() {
            let answers = state.withLock { state in
                defer { state.answers = [] }
                return state.answers
            }
            for answer in answers { answer() }
        }

        func fire() { state.withLock { $0.timers.removeFirst() }() }

        func record(_ number: UInt64, by lines: AssignmentLines) {
            let key = ConversationKey(business: BusinessID("b"), customer: CustomerID("c"))
            let change = Store.AssignedConversation(key, Assignment(state: .waiting, record: number))
            state.withLock { $0.changes.append(change) }
            lines.record(change)
        }

        func recorder() -> AssignmentLines {
            AssignmentLines(
                later: { next in self.state.withLock { $0.timers.append(next) } },
                unrecorded: { self.state.withLock(\.changes) },
                append: { change, completion in
                    let isRefused = self.state.withLock { state in
                        if state.isFull {
                            state.refusals += 1
                            return true
                        }
                        state.answers.append { completion(self.settle(change.assignment.record)) }
                        return false
                    }
                    if isRefused { completion(Self.refusal) }
                })
        }

        private static let refusal = AppendResult.failed(.notDurable(.notKept))

        private func settle(_ record: UInt64) -> AppendResult {
            state.withLock { state in
                if state.isFull { return Self.refusal }
                if state.lines.contains(record) { return .duplicate }
                state.lines.append(record)
                state.changes.removeAll { $0.assignment.record == record }
                return .stored
            }
        }
    }

    @Test(arguments: [false, true])
    func `lines that were refused, at once or by the sync, are recorded later, in order and once`(
        isLate: Bool
    ) {
        let store = FullStore()
        let lines = store.recorder()
        store.record(1, by: lines)
        store.answer()
        store.fill(!isLate)
        store.record(2, by: lines)
        store.record(3, by: lines)
        store.fill(true)
        store.answer()
        store.fire()
        #expect(store.timerCount == 1)
        store.fill(false)
        // Those before it are not recorded yet.
        store.record(4, by: lines)
        store.answer()
        #expect(store.lines == [1])
        // None waits for the one before it.
        store.fire()
        store.answer()
        #expect(store.lines == [1, 2, 3, 4])
        store.record(5, by: lines)
        store.answer()
        #expect(store.lines == [1, 2, 3, 4, 5])
        #expect(store.timerCount == 0)
    }
    @Test func `many lines that wait cost one attempt at a time`() {
        let store = FullStore()
        let lines = store.recorder()
        store.fill(true)
        for number in 1...100 { store.record(UInt64(number), by: lines) }
        for _ in 1...10 { store.fire() }
        #expect(store.refusals == 11)
        store.fill(false)
        store.fire()
        store.answer()
        #expect(store.lines == Array(1...100))
    }
}
