import BalloonPOSIX
import Glibc
import Synchronization
import TestSupport
import Testing

struct DurableCopyTests {
    /// Writes down what it is asked.
    private final class Recorder: DurableCopy {
        let root: String
        private let calls = Mutex<[String]>([])

        init(_ root: String) { self.root = root }

        func change(_ paths: [String], _ change: () throws(SystemError) -> Void) throws(SystemError) {
            try change()
            note("change", paths)
        }

        func synchronize(_ paths: [String]) throws(SystemError) { note("sync", paths) }
        func synchronize(entriesOf folder: String) throws(SystemError) {
            note("sync entries", [folder + "/"])
        }

        private func note(_ call: String, _ paths: [String]) {
            let text = ([call] + paths.map { String($0.dropFirst(root.utf8.count + 1)) }).joined(
                separator: " ")
            calls.withLock { $0.append(text) }
        }

        func take() -> [String] {
            calls.withLock { calls in
                defer { calls = [] }
                return calls
            }
        }
    }

    @Test func `each change that must last reaches the copy of its directory, and no other`() throws {
        let (inside, outside) = (TemporaryDirectory(), TemporaryDirectory())
        let copy = Recorder(inside.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        let file = try File(inside.file("a"), for: .creating)
        try file.append([1, 2, 3])
        try file.synchronizeData()
        try file.truncate(to: 1)
        try Directory.rename(inside.file("a"), to: inside.file("b"))
        try file.synchronize()
        try Directory.synchronize(inside.path)
        try Directory.link(inside.file("b"), to: inside.file("d"))
        try Directory.remove(inside.file("b"))
        #expect(
            copy.take() == [
                "change a", "sync a", "change a", "change a b", "sync b", "sync entries ", "change d",
                "change b",
            ])
        try AtomicFile.write([1], to: outside.file("c"))
        try Directory.remove(outside.file("c"))
        #expect(copy.take() == [])
    }

    @Test func `a path through a symbolic link is that of the directory`() throws {
        let (inside, links) = (TemporaryDirectory(), TemporaryDirectory())
        let copy = Recorder(inside.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        #expect(symlink(inside.path, links.file("data")) == 0)
        _ = try File(links.file("data") + "/a", for: .creating)
        #expect(copy.take() == ["change a"])
    }

    @Test func `a change that fails is not kept`() throws {
        let inside = TemporaryDirectory()
        let copy = Recorder(inside.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        #expect(throws: SystemError.self) { try Directory.remove(inside.file("missing")) }
        #expect(copy.take() == [])
    }
}
