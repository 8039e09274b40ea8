/// The received bytes of a pulled body that the handler has not read yet.
final class PulledBody {
    private var remaining: BodyFraming
    private let maximumBytes: Int
    private var receivedBytes = 0
    private var decoder = ChunkedDecoder()
    private(set) var buffered: [UInt8] = []
    private(set) var isFinished: Bool
    private(set) var failure: HTTPStreamError?
    /// Whether the client waits for `100 Continue`.
    var needsContinue: Bool
    /// The handler that waits for the next piece; nil when none waits.
    var reader: CheckedContinuation<[UInt8]?, any Error>?

    init(_ framing: BodyFraming, maximumBytes: Int, needsContinue: Bool) {
        remaining = framing
        self.maximumBytes = maximumBytes
        self.needsContinue = needsContinue
        isFinished = framing == .none
    }

    var wantsMore: Bool { failure == nil && buffered.count < 65536 }

    /// Resumes the waiting reader with the received bytes, if there are any.
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

    /// Fails the waiting reader, or the next one, after it has read the received bytes.
    func fail(_ error: HTTPStreamError) {
        failure = error
        resumeReader()
    }

    /// Consumes the body bytes in `bytes[cursor..<end]`; malformed or too many bytes set `failure`.
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
            // The decoder compares its limit with the bytes in `buffered` only, so subtract the bytes that
            // the handler has already read.
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
