import BalloonPOSIX
import MessageStore

/// A disk that ignores syncs, so that the server does not wait for the disk.
struct UnsyncedDisk: StoreDisk {
    private let disk = SystemDisk()

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }
    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }
    func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {}
    func synchronize(_ file: File) throws(SystemError) {}
}

/// A disk with one sync for every record, like a server without group commit.
struct EachRecordDisk: StoreDisk {
    private let disk = SystemDisk()

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            try disk.append(line + [UInt8(ascii: "\n")], to: file)
            try disk.synchronize(file)
        }
    }

    func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError) {
        var offset = offset
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            try disk.write(line + [UInt8(ascii: "\n")], to: file, at: offset)
            try disk.synchronize(file)
            offset += line.count + 1
        }
    }

    func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {}

    func synchronize(_ file: File) throws(SystemError) {}
}
