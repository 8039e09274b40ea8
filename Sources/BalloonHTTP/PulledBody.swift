/// A body that the handler pulls: what has come in and not been taken.
struct PulledBody {
    var remaining: BodyFraming
    var maximumBytes: Int
    var receivedBytes = 0
    var buffered: [UInt8] = []
    var isFinished = false
    var needsContinue = false
    var waiting: CheckedContinuation<[UInt8]?, any Error>?
    var failure: HTTPStreamError?

    var wantsMore: Bool { failure == nil && buffered.count < 65536 }

    /// Gives the reader that waits what there is for it; false when it must go on waiting.
    mutating func give() -> Bool {
        guard let reader = waiting else { return false }
        if !buffered.isEmpty {
            reader.resume(returning: buffered)
            buffered = []
        } else if let failure {
            reader.resume(throwing: failure)
        } else if isFinished {
            reader.resume(returning: nil)
        } else {
            return false
        }
        waiting = nil
        return true
    }

    /// Takes body bytes from `bytes[cursor..<end]`; a refusal becomes what the reader is told.
    mutating func take(_ bytes: [UInt8], _ cursor: inout Int, _ end: Int, _ decoder: inout ChunkedDecoder) {
        switch remaining {
        case .none: isFinished = true
        case .length(let left):
            let count = min(left, end - cursor)
            buffered += bytes[cursor..<cursor + count]
            cursor += count
            remaining = .length(left - count)
            isFinished = left == count
        case .chunked:
            let before = buffered.count
            // The decoder counts from the pieces that wait; what has been taken already counts too.
            let maximum = maximumBytes - receivedBytes + before
            do throws(HTTPRefusal) {
                try decoder.decode(bytes, &cursor, to: end, into: &buffered, maximumBytes: maximum)
                isFinished = decoder.isFinished
            } catch {
                failure = .refused(error)
            }
            receivedBytes += buffered.count - before
        }
    }
}
