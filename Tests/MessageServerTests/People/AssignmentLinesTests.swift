import BalloonPOSIX
import BusinessMessages
import MessageStore
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

struct AssignmentLinesTests {
    /// A disk that refuses as long as it is full, and answers each line at once.
    private final class Disk: Sendable {
        private let state = Mutex((isFull: false, lines: [String]()))
        var isFull: Bool {
            get { state.withLock(\.isFull) }
            set { state.withLock { $0.isFull = newValue } }
        }

        var lines: [String] { state.withLock(\.lines) }

        func append(_ line: AssignmentLines.Line) -> AppendResult {
            state.withLock { state in
                if state.isFull { return .failed(.notDurable(.notKept)) }
                state.lines.append(line.id.rawValue)
                return .stored
            }
        }
    }

    private func line(_ id: String) -> AssignmentLines.Line {
        AssignmentLines.Line(
            assignment: .handler, id: MessageID(id),
            conversation: ConversationID(business: BusinessID("b"), customer: CustomerID("c")))
    }

    @Test func `lines that the disk refused are recorded later, in order and once`() async {
        let disk = Disk()
        let lines = AssignmentLines(later: { _ in }) { $1(disk.append($0)) }
        lines.record(line("1"))
        disk.isFull = true
        lines.record(line("2"))
        lines.record(line("3"))
        await lines.retry()
        disk.isFull = false
        // The lines before it are not recorded yet.
        lines.record(line("4"))
        #expect(disk.lines == ["1"])
        await lines.retry()
        #expect(disk.lines == ["1", "2", "3", "4"])
        lines.record(line("5"))
        await lines.retry()
        #expect(disk.lines == ["1", "2", "3", "4", "5"])
    }

    @Test func `lines that wait are bounded`() async {
        let disk = Disk()
        let lines = AssignmentLines(later: { _ in }) { $1(disk.append($0)) }
        disk.isFull = true
        for number in 0...AssignmentLines.maximumWaiting { lines.record(line("\(number)")) }
        disk.isFull = false
        await lines.retry()
        #expect(disk.lines.count == AssignmentLines.maximumWaiting)
        #expect(disk.lines.contains("\(AssignmentLines.maximumWaiting)"))
    }

    @Test func `a refused line is tried again by itself`() async throws {
        let disk = Disk()
        let later = Mutex<[@Sendable () -> Void]>([])
        let lines = AssignmentLines(later: { next in later.withLock { $0.append(next) } }) {
            $1(disk.append($0))
        }
        disk.isFull = true
        lines.record(line("1"))
        lines.record(line("2"))
        #expect(later.withLock(\.count) == 1)
        disk.isFull = false
        later.withLock { $0.removeFirst() }()
        #expect(await eventually { disk.lines == ["1", "2"] })
        #expect(later.withLock(\.count) == 0)
    }
}
