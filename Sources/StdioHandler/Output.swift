import BalloonPOSIX
import Synchronization

/// Standard output, one whole line at a time.
final class Output: Sendable {
    private let descriptor: Mutex<Descriptor>

    init(_ descriptor: consuming Descriptor) { self.descriptor = Mutex(descriptor) }

    func write(_ line: [UInt8]) {
        // A write fails when the server has ended. The error is ignored, because standard input ends then
        // too.
        descriptor.withLock { descriptor in try? descriptor.writeAll(line) }
    }
}
