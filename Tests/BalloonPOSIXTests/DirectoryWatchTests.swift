import BalloonPOSIX
import Dispatch
import TestSupport
import Testing

struct DirectoryWatchTests {
    @Test func `changes in a watched directory in quick succession are reported once`() async throws {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("below"))
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        let queue = DispatchQueue(label: "test")
        let watch = try DirectoryWatch(
            [directory.path, directory.file("below")], queue: queue, quiet: .milliseconds(50)
        ) { change.yield() }
        var told = changes.makeAsyncIterator()
        // The queue is suspended, so the changes are reported together, however slow the disk is.
        queue.suspend()
        for number in 0..<5 { try AtomicFile.write([1], to: directory.file("file\(number)")) }
        queue.resume()
        #expect(await told.next() != nil)
        queue.suspend()
        try AtomicFile.write([2], to: directory.file("below/file"))
        queue.resume()
        #expect(await told.next() != nil)
        try Directory.remove(directory.file("file0"))
        #expect(await told.next() != nil)
        withExtendedLifetime(watch) {}
        change.finish()
        // No change was reported twice.
        #expect(await told.next() == nil)
    }

    @Test func `changes of files with other names are not reported`() async throws {
        let directory = TemporaryDirectory()
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        let watch = try DirectoryWatch(
            [directory.path], queue: DispatchQueue(label: "test"), quiet: .milliseconds(20),
            wanted: { name in
                if name == "last" { change.finish() }
                return name == "wanted"
            }
        ) { change.yield() }
        try AtomicFile.write([1], to: directory.file("unwanted"))
        try AtomicFile.write([1], to: directory.file("wanted"))
        var told = changes.makeAsyncIterator()
        #expect(await told.next() != nil)
        try AtomicFile.write([1], to: directory.file("last"))
        #expect(await told.next() == nil)
        withExtendedLifetime(watch) {}
    }

    @Test func `watching a missing directory throws`() {
        #expect(throws: SystemError.self) {
            try DirectoryWatch(["/nonexistent"], queue: DispatchQueue(label: "test")) {}
        }
    }
}
