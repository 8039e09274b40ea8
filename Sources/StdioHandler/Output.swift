import BalloonPOSIX
import Synchronization

/// Standard output, one whole line at a time.
final class Output: Sendable {
    private let descriptor: Mutex<Descriptor>

    init(_ descriptor: consuming Descriptor) { self.descriptor = Mutex(descriptor) }

    func write(_ line: [UInt8]) {
        // When it cannot be written the server is gone, and the end of standard input says so too.
        descriptor.withLock { descriptor in try? descriptor.writeAll(line) }
    }
}
