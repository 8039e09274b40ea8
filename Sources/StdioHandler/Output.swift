import BalloonPOSIX
import Synchronization

/// Standard output, to which each call writes a whole line.
final class Output: Sendable {
    private let descriptor: Mutex<Descriptor>

    init(_ descriptor: consuming Descriptor) { self.descriptor = Mutex(descriptor) }

    func write(_ line: [UInt8]) {
        // Ignore an error: a write fails only when the server has ended, and then standard input ends too.
        descriptor.withLock { descriptor in try? descriptor.writeAll(line) }
    }
}
