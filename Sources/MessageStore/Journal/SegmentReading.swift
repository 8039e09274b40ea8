import BalloonPOSIX
import Dispatch
import Synchronization

/// Reads the records of several segments in parallel, and returns them in the order of the segments.
final class SegmentReading: Sendable {
    private struct State {
        /// The index of the next segment to read.
        var next = 0
        var read: [Int: Result<SegmentRecords, StoreError>] = [:]
    }

    private let segments: [UInt64]
    private let directory: String
    private let abandoned: AbandonedRecords
    private let state = Mutex(State())
    private let hasRead = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "balloon.recovery", attributes: .concurrent)
    /// The maximum number of segments that are read before they are needed; each has up to 64 MiB of records.
    private static let maximumAhead = 4

    /// Starts reading the first segments.
    init(_ segments: ArraySlice<UInt64>, in directory: String, abandoned: AbandonedRecords) {
        self.segments = Array(segments)
        self.directory = directory
        self.abandoned = abandoned
        for _ in 0..<min(Self.maximumAhead, ProcessorCount.available() + 1) { readNext() }
    }

    /// Calls `body` with the records of each segment, in order; rethrows errors of reading and of `body`.
    func forEach(_ body: (SegmentRecords) throws(StoreError) -> Void) throws(StoreError) {
        for index in segments.indices {
            var result: Result<SegmentRecords, StoreError>?
            while result == nil {
                result = state.withLock { $0.read.removeValue(forKey: index) }
                if result == nil { hasRead.wait() }
            }
            readNext()
            if let result { try body(result.get()) }
        }
    }

    private func readNext() {
        let index = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        guard index < segments.count else { return }
        queue.async {
            let result = self.records(of: self.segments[index])
            self.state.withLock { $0.read[index] = result }
            self.hasRead.signal()
        }
    }

    private func records(of segment: UInt64) -> Result<SegmentRecords, StoreError> {
        let path = SegmentName.path(segment, in: directory)
        do throws(SystemError) {
            return .success(try SegmentRecords(path, segment: segment, abandoned: abandoned))
        } catch {
            return .failure(.unavailable(path: path, error))
        }
    }
}
