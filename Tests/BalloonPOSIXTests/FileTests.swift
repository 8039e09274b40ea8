import BalloonPOSIX
import Glibc
import TestSupport
import Testing

struct FileTests {
    let directory = TemporaryDirectory()
    var path: String { directory.file("file") }

    @Test func `appended bytes are read back, also in parts and past the end`() throws {
        let file = try File(path, for: .appending)
        try file.append([1, 2, 3])
        try file.append([4, 5])
        try file.synchronizeData()
        try file.synchronize()
        file.dropCache()
        #expect(try file.sizeBytes() == 5)
        #expect(try file.readAll() == [1, 2, 3, 4, 5])
        #expect(try file.read(at: 1, count: 2) == [2, 3])
        #expect(try file.read(at: 3, count: 10) == [4, 5])
        #expect(try file.read(at: 9, count: 1).isEmpty)
        #expect(try file.read(at: 0, count: 0).isEmpty)
    }

    @Test func `appending writes to the current end, also after truncation`() throws {
        let file = try File(path, for: .appending)
        try file.append([1, 2, 3])
        try file.truncate(to: 1)
        try file.append([9])
        #expect(try File(path, for: .reading).readAll() == [1, 9])
        try File(path, for: .appending).append([8])
        #expect(try file.readAll() == [1, 9, 8])
    }

    @Test func `creating fails when the file exists, and reading fails when it is missing`() throws {
        #expect(throws: SystemError("open", code: ENOENT)) { try File(path, for: .reading) }
        _ = try File(path, for: .creating)
        #expect(throws: SystemError("open", code: EEXIST)) { try File(path, for: .creating) }
    }

    @Test func `anything except a regular file is refused, and a pipe without a writer does not block`()
        throws
    {
        try #require(mkfifo(path, 0o600) == 0)
        let refusal = SystemError("open (not a regular file)", code: EINVAL)
        // Check with a writer first: without one, an open call that waits for a writer would hang the test
        // instead of failing it.
        let writer = open(path, O_RDWR)
        try #require(throws: refusal) { try File(path, for: .readingGiven) }
        close(writer)
        #expect(throws: refusal) { try File(path, for: .readingGiven) }
        #expect(throws: refusal) { try File("/dev/zero", for: .readingGiven) }
        #expect(throws: SystemError("open", code: EISDIR)) { try File(directory.path, for: .readingGiven) }
        for access in [File.Access.reading, .appending, .overwriting] {
            #expect(throws: refusal) { try File(path, for: access) }
        }
        #expect(throws: refusal) { try FileLock(path) }
        #expect(throws: refusal) { try FileLock(sharing: path) }
    }

    @Test
    func
        `a symbolic link in place of a file of the program is refused, and one that a person names is followed`()
        throws
    {
        try AtomicFile.write([7], to: path + ".target")
        try #require(symlink(path + ".target", path) == 0)
        let refusal = SystemError("open", code: ELOOP)
        for access in [File.Access.reading, .appending, .overwriting] {
            #expect(throws: refusal) { try File(path, for: access) }
        }
        #expect(throws: refusal) { try FileLock(path) }
        #expect(throws: refusal) { try FileLock(sharing: path) }
        #expect(try File(path, for: .readingGiven).readAll() == [7])
    }

    @Test func `a file that is open for reading cannot be written`() throws {
        _ = try File(path, for: .creating)
        let file = try File(path, for: .reading)
        #expect(throws: SystemError("write", code: EBADF)) { try file.append([1]) }
    }

    @Test func `no descriptor is inherited by a child`() throws {
        let file = try File(path, for: .appending)
        let opened = try Directory.names(in: "/proc/self/fd").filter {
            ProcessPaths.resolved("/proc/self/fd/" + $0) == path
        }
        #expect(opened.count == 1)
        for descriptor in opened.compactMap({ Int32($0) }) {
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        try file.append([1])
    }

    @Test func `a line that was left incomplete is ended before the next line`() throws {
        try AtomicFile.write(Array("a\nb".utf8), to: path)
        let file = try File(path, for: .appending)
        try file.appendLine(Array("c".utf8))
        try file.appendLine(Array("d".utf8))
        #expect(try file.readAll() == Array("a\nb\nc\nd\n".utf8))
        #expect(file.isAt(path))
        try AtomicFile.write([], to: path)
        #expect(!file.isAt(path))
        let empty = try File(path, for: .appending)
        try empty.appendLine([0x61])
        #expect(try empty.readAll() == Array("a\n".utf8))
    }

    @Test func `two replacements of one path at the same time have files of their own`() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("a")
        let first = try AtomicFile.Replacement(of: path, with: [1])
        let second = try AtomicFile.Replacement(of: path, with: [2])
        #expect(try Directory.names(in: directory.path).count == 2)
        try first.install()
        #expect(try File(path, for: .reading).readAll() == [1])
        try second.install(adding: [3])
        #expect(try File(path, for: .reading).readAll() == [2, 3])
        let third = try AtomicFile.Replacement(of: path, with: [4])
        third.discard()
        #expect(try Directory.names(in: directory.path) == ["a"])
    }

    @Test func `an atomic write replaces a file as a whole`() throws {
        try AtomicFile.write([1, 2, 3], to: path)
        let old = try File(path, for: .reading)
        try AtomicFile.write([4], to: path)
        #expect(try File(path, for: .reading).readAll() == [4])
        #expect(try old.readAll() == [1, 2, 3])
        #expect(try Directory.names(in: directory.path) == ["file"])
    }

    @Test func `a failed replacement leaves the file unchanged and no temporary file`() throws {
        try Directory.make(path)
        #expect(throws: SystemError("rename", code: EISDIR)) { try AtomicFile.write([1], to: path) }
        #expect(try Directory.names(in: directory.path) == ["file"])
    }

    @Test func `a lock has one holder, whose process id is known`() throws {
        var lock: FileLock? = try FileLock(path)
        #expect(lock != nil)
        let refusal = #expect(throws: SystemError.self) { try FileLock(path) }
        #expect(refusal?.wouldBlock == true)
        #expect(FileLock.owner(of: path) == getpid())
        lock = nil
        _ = try FileLock(path)
        #expect(FileLock.owner(of: directory.file("none")) == nil)
    }
}
