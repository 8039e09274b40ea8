import BalloonPOSIX
import Dispatch
import Glibc
import MessageStore
import Synchronization

/// A disk that works normally until a fault is set.
final class FaultyDisk: StoreDisk {
    enum Fault: Sendable, CaseIterable {
        /// No file can be created.
        case create
        /// A file is created, but its name does not reach the disk.
        case name
        /// Half of the appended bytes reach the file, then the disk is full.
        case append
        /// All bytes reach the file, but the sync reports a failure.
        case synchronize
    }

    private let fault = Mutex<Fault?>(nil)
    private let failsFills = Mutex(false)
    private let gate = Mutex<DispatchSemaphore?>(nil)
    private let batches = Mutex(0)
    private let held = Mutex(0)
    private let disk = SystemDisk()

    /// Makes every later call fail in this way, until ``recover()``.
    func fail(_ fault: Fault) { self.fault.withLock { $0 = fault } }

    func recover() { fault.withLock { $0 = nil } }

    /// From now on, preallocated bytes read as zeros, and their sync fails.
    func failFills() { failsFills.withLock { $0 = true } }

    /// Blocks every sync until ``release()``.
    func hold() { gate.withLock { $0 = DispatchSemaphore(value: 0) } }

    func release() {
        gate.withLock { gate in
            // The journal and several conversations may wait, so all of them are signalled.
            for _ in 0..<16 { gate?.signal() }
            gate = nil
        }
    }

    /// Whether a sync waits for ``release()``.
    var isHolding: Bool { held.withLock { $0 > 0 } }

    /// The number of synced batches.
    var count: Int { batches.withLock { $0 } }

    func create(_ path: String) throws(SystemError) -> File {
        if fault.withLock({ $0 }) == .create { throw SystemError("open", code: ENOSPC) }
        let file = try disk.create(path)
        if fault.withLock({ $0 }) == .name { throw SystemError("fsync", code: EIO) }
        return file
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        guard fault.withLock({ $0 }) == .append else { return try disk.append(bytes, to: file) }
        try disk.append(Array(bytes.prefix(bytes.count / 2)), to: file)
        throw SystemError("write", code: ENOSPC)
    }

    func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError) {
        guard fault.withLock({ $0 }) == .append else { return try disk.write(bytes, to: file, at: offset) }
        try disk.write(Array(bytes.prefix(bytes.count / 2)), to: file, at: offset)
        throw SystemError("pwrite", code: ENOSPC)
    }

    func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {
        guard failsFills.withLock({ $0 }) else { return try disk.fill(file, range) }
        try disk.write([UInt8](repeating: 0, count: range.count), to: file, at: range.lowerBound)
        throw SystemError("fdatasync", code: EIO)
    }

    func synchronize(_ file: File) throws(SystemError) {
        if let gate = gate.withLock({ $0 }) {
            held.withLock { $0 += 1 }
            gate.wait()
            held.withLock { $0 -= 1 }
        }
        if fault.withLock({ $0 }) == .synchronize { throw SystemError("fdatasync", code: EIO) }
        try disk.synchronize(file)
        batches.withLock { $0 += 1 }
    }
}
