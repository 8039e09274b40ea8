import BalloonPOSIX
import ConversationStore
import Dispatch
import Glibc
import Synchronization

/// A disk that writes for real until it is told to misbehave.
final class FaultyDisk: StoreDisk {
    enum Fault: Sendable, CaseIterable {
        /// No file can be made.
        case create
        /// Half of what is appended reaches the file, then the disk is full.
        case append
        /// Everything reaches the file and the sync says that it did not.
        case synchronize
    }

    private let fault = Mutex<Fault?>(nil)
    private let gate = Mutex<DispatchSemaphore?>(nil)
    private let batches = Mutex(0)
    private let disk = SystemDisk()

    /// Misbehaves until ``recover()``.
    func fail(_ fault: Fault) { self.fault.withLock { $0 = fault } }

    func recover() { fault.withLock { $0 = nil } }

    /// Lets no sync end until ``release()``.
    func hold() { gate.withLock { $0 = DispatchSemaphore(value: 0) } }

    func release() {
        gate.withLock { gate in
            gate?.signal()
            gate = nil
        }
    }

    /// How many batches were synced.
    var count: Int { batches.withLock { $0 } }

    func create(_ path: String) throws(SystemError) -> File {
        if fault.withLock({ $0 }) == .create { throw SystemError("open", code: ENOSPC) }
        return try disk.create(path)
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        guard fault.withLock({ $0 }) == .append else { return try disk.append(bytes, to: file) }
        try disk.append(Array(bytes.prefix(bytes.count / 2)), to: file)
        throw SystemError("write", code: ENOSPC)
    }

    func synchronize(_ file: File) throws(SystemError) {
        gate.withLock { $0 }?.wait()
        if fault.withLock({ $0 }) == .synchronize { throw SystemError("fdatasync", code: EIO) }
        try disk.synchronize(file)
        batches.withLock { $0 += 1 }
    }
}
