/// A body that the handler pulls: the bytes that have come in and were not taken.
final class PulledBody {
    private var remaining: BodyFraming
    private let maximumBytes: Int
    private var receivedBytes = 0
    private var decoder = ChunkedDecoder()
    private(set) var buffered: [UInt8] = []
    private(set) var isFinished: Bool
    private(set) var failure: HTTPStreamError?
    /// The client waits for `100 Continue`.
    var needsContinue: Bool
    /// The handler, while it waits for the next piece.
    var reader: CheckedContinuation<[UInt8]?, any Error>?

    init(_ framing: BodyFraming, maximumBytes: Int, needsContinue: Bool) {
        remaining = framing
        self.maximumBytes = maximumBytes
        self.needsContinue = needsContinue
        isFinished = framing == .none
    }

    var wantsMore: Bool { failure == nil && buffered.count < 65536 }

    /// Resumes the waiting reader with what has come; does nothing when that is nothing yet.
    func resumeReader() {
        guard let waiting = reader else { return }
        if !buffered.isEmpty {
            waiting.resume(returning: buffered)
            buffered = []
        } else if let failure {
            waiting.resume(throwing: failure)
        } else if isFinished {
            waiting.resume(returning: nil)
        } else {
            return
        }
        reader = nil
    }

    /// Tells the reader, now or when it asks, that the body cannot be read to its end.
    func fail(_ error: HTTPStreamError) {
        failure = error
        resumeReader()
    }

    /// Takes body bytes from `bytes[cursor..<end]`; a refusal becomes what the reader is told.
    func take(_ bytes: [UInt8], _ cursor: inout Int, _ end: Int) {
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
