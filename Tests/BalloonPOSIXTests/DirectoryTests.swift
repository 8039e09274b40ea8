import BalloonPOSIX
import Glibc
import TestSupport
import Testing

struct DirectoryTests {
    let directory = TemporaryDirectory()

    @Test func `directories are created with their parents, for their owner only`() throws {
        #expect(try Directory.make(directory.file("a/b/c")))
        #expect(try !Directory.make(directory.file("a/b/c")))
        #expect(try Directory.make(directory.file("a/b/d")))
        #expect(Directory.isDirectory(directory.file("a/b/c")))
        var status = stat()
        #expect(stat(directory.file("a"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func `the name of each created parent is synced`() throws {
        let directory = TemporaryDirectory()
        var synced: [String] = []
        try Directory.make(directory.file("a/b/c/d")) { synced.append($0) }
        #expect(synced == [directory.path, directory.file("a"), directory.file("a/b")])
        synced = []
        try Directory.make(directory.file("a/b/c/e")) { synced.append($0) }
        #expect(synced.isEmpty)
    }

    @Test func `a file in place of a directory is an error`() throws {
        try AtomicFile.write([], to: directory.file("a"))
        #expect(throws: SystemError("mkdir", code: ENOTDIR)) { try Directory.make(directory.file("a")) }
        #expect(throws: SystemError("mkdir", code: ENOTDIR)) { try Directory.make(directory.file("a/b")) }
        #expect(!Directory.isDirectory(directory.file("a")))
    }

    @Test(arguments: ["", "/proc/balloon", "/proc/balloon/data"])
    func `creating a directory at an impossible path throws`(path: String) {
        #expect(throws: SystemError("mkdir", code: ENOENT)) { try Directory.make(path) }
    }

    @Test func `all names are listed, sorted by bytes`() throws {
        let names = ["B", "a", "é", ".hidden", "a b", "10", "9"]
        for name in names { try AtomicFile.write([], to: directory.file(name)) }
        #expect(try Directory.names(in: directory.path) == [".hidden", "10", "9", "B", "a", "a b", "é"])
        #expect(throws: SystemError("opendir", code: ENOENT)) {
            try Directory.names(in: directory.file("none"))
        }
    }

    @Test func `entries are renamed, removed and synced`() throws {
        try AtomicFile.write([1], to: directory.file("a"))
        try Directory.rename(directory.file("a"), to: directory.file("b"))
        try Directory.synchronize(directory.path)
        try Directory.synchronizeFileSystem(of: directory.path)
        #expect(!Directory.exists(directory.file("a")))
        #expect(Directory.exists(directory.file("b")))
        try Directory.remove(directory.file("b"))
        #expect(throws: SystemError("unlink", code: ENOENT)) { try Directory.remove(directory.file("b")) }
        #expect(throws: SystemError("open", code: ENOENT)) {
            try Directory.synchronize(directory.file("none"))
        }
    }

    @Test func `a file with two names keeps its content when one is removed`() throws {
        try AtomicFile.write([1], to: directory.file("a"))
        try Directory.link(directory.file("a"), to: directory.file("b"))
        #expect(throws: SystemError("link", code: EEXIST)) {
            try Directory.link(directory.file("a"), to: directory.file("b"))
        }
        try Directory.remove(directory.file("a"))
        #expect(try File(directory.file("b"), for: .reading).readAll() == [1])
    }

    @Test func `a directory is removed with everything in it, and a link in it is not followed`() throws {
        try Directory.make(directory.file("kept"))
        try AtomicFile.write([], to: directory.file("kept/file"))
        try Directory.make(directory.file("a/b/c"))
        try AtomicFile.write([], to: directory.file("a/b/file"))
        #expect(symlink(directory.file("kept"), directory.file("a/b/link")) == 0)
        try Directory.removeAll(directory.file("a"))
        #expect(!Directory.exists(directory.file("a")))
        #expect(Directory.exists(directory.file("kept/file")))
    }

    @Test(arguments: [("/a/b", "/a"), ("/a", "/"), ("/", "/"), ("a/b/c", "a/b"), ("a", ".")])
    func `the parent of a path is the part before its last slash`(path: String, above: String) {
        #expect(Directory.parent(of: path) == above)
    }

    @Test func `bytes are found and replaced from a position on`() {
        var bytes: [UInt8] = [1, 2, 1, 3, 1]
        #expect(bytes.firstPosition(of: 1, from: 0) == 0)
        #expect(bytes.firstPosition(of: 1, from: 1) == 2)
        #expect(bytes.firstPosition(of: 1, from: 5) == nil)
        #expect(bytes.firstPosition(of: 9, from: 0) == nil)
        #expect([UInt8]().firstPosition(of: 1, from: 0) == nil)
        #expect(bytes.lastPosition(of: 1, before: 5) == 4)
        #expect(bytes.lastPosition(of: 1, before: 4) == 2)
        #expect(bytes.lastPosition(of: 1, before: 0) == nil)
        #expect(bytes.lastPosition(of: 9, before: 5) == nil)
        bytes.replace(1, with: 7, from: 1)
        #expect(bytes == [1, 2, 7, 3, 7])
    }
}
