import BalloonPOSIX
import ConversationStore

/// A disk that is never waited for.
struct UnsyncedDisk: StoreDisk {
    private let disk = SystemDisk()

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }
    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }
    func synchronize(_ file: File) throws(SystemError) {}
}

/// A disk that is waited for once for every record, as a server without group commit would.
struct EachRecordDisk: StoreDisk {
    private let disk = SystemDisk()

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            try disk.append(line + [UInt8(ascii: "\n")], to: file)
            try disk.synchronize(file)
        }
    }

    func synchronize(_ file: File) throws(SystemError) {}
}
