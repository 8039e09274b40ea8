import BalloonPOSIX
import BusinessMessages
import Glibc
import MessageStore
import Testing

struct DataDirectoryTests {
    let directory = StoreDirectory()

    @Test func `a second store on the same directory is refused with the owner's process id`() async throws {
        let store = try directory.open()
        let refusal = #expect(throws: StoreError.self) { try directory.open() }
        #expect(refusal == .inUse(path: directory.path, process: getpid()))
        #expect("\(refusal as Any)".contains("process \(getpid())"))
        await store.close()
        let next = try directory.open()
        #expect(await next.append(message("m1")) == .stored)
    }

    @Test(arguments: ["4\n", "1", "", "1\n1\n", "x\n"])
    func `a data directory of an unknown version is refused`(text: String) throws {
        try directory.prepare()
        try AtomicFile.write(Array(text.utf8), to: directory.path + "/VERSION")
        let refusal = #expect(throws: StoreError.self) { try directory.open() }
        guard case .unknownVersion = refusal else {
            Issue.record("not refused for its version")
            return
        }
    }

    @Test(arguments: ["1\n", "2\n"])
    func `a data directory of an earlier version is migrated by a start`(version: String) async throws {
        try directory.prepare()
        try AtomicFile.write(Array(version.utf8), to: directory.path + "/VERSION")
        try Store.check(directory.path)
        let store = try directory.open()
        #expect(try File(directory.path + "/VERSION", for: .reading).readAll() == Array("3\n".utf8))
        await store.close()
    }

    @Test func `a journal without a version is distinguished from a new directory`() throws {
        try directory.prepare()
        try Directory.remove(directory.path + "/VERSION")
        #expect(throws: StoreError.unknownVersion(found: "", path: directory.path)) { try directory.open() }
    }

    @Test func `reading a directory without a VERSION file throws an error`() async throws {
        try Directory.make(directory.path)
        let refusal = StoreError.noData(path: directory.path)
        #expect(throws: refusal) { try Store.check(directory.path) }
        #expect(throws: refusal) { try StoreVerification.run(dataDirectory: directory.path) { _ in } }
        #expect(try Directory.names(in: directory.path).isEmpty)
        await (try directory.open()).close()
        try Store.check(directory.path)
        let version = directory.path + "/VERSION"
        try AtomicFile.write(Array("4\n".utf8), to: version)
        #expect(throws: StoreError.unknownVersion(found: "4", path: directory.path)) {
            try Store.check(directory.path)
        }
        try Directory.remove(version)
        try Directory.make(version)
        // A read error is reported like this, and an absent file in another way.
        #expect(throws: StoreError.unavailable(path: version, SystemError("open", code: EISDIR))) {
            try Store.check(directory.path)
        }
    }

    @Test func `a new directory is created with its parents and a version`() async throws {
        let deep = directory.path + "/a/b/c"
        let store = try directory.open { $0.directory = deep }
        #expect(try File(deep + "/VERSION", for: .reading).readAll() == Array("3\n".utf8))
        await store.close()
    }

    @Test func `a file in place of the data directory is refused with an error that has its path`() throws {
        try AtomicFile.write([1], to: directory.path)
        #expect(throws: StoreError.unavailable(path: directory.path, SystemError("mkdir", code: ENOTDIR))) {
            try directory.open()
        }
    }

    @Test func `opening and closing a store leaves no records`() async throws {
        for _ in 1...3 { await (try directory.open()).close() }
        #expect(try directory.segments().isEmpty)
    }
}
