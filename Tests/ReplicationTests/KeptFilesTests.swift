import BalloonPOSIX
import TestSupport
import Testing

@testable import Replication

struct KeptFilesTests {
    @Test(arguments: [
        ("journal/000000000001.jsonl", true), ("VERSION", true), ("attachments/ab/abcd.0123", true),
        ("requests/ab/abcd.json", true), ("snapshot", true), ("calls", true), ("lock", false),
        ("replica", false),
        ("replica.changes", false), ("people.json.57.new", false), ("attachments/incoming/ab", false),
        ("handlers/one/process", false), ("journal/calls", true), ("conversation-index", false),
    ])
    func `files of one machine and unfinished ones are not kept`(_ path: String, _ isKept: Bool) {
        #expect(KeptFiles.keeps(path) == isKept)
    }

    @Test(arguments: [
        ("journal/1", true), ("journal/..1", true), ("/journal/1", false), ("../journal", false),
        ("journal/..", false), ("/\u{301}journal", false), ("../\u{301}journal", false),
    ])
    func `a path of the database that leaves the directory is refused`(_ path: String, _ isInside: Bool) {
        #expect(KeptFiles.isInside(path) == isInside)
    }

    @Test func `a path outside the directory has no relative path`() {
        let files = KeptFiles(root: "/data")
        #expect(files.relative("/data/journal/1") == "journal/1")
        #expect(files.relative("/database/journal/1") == nil)
    }

    @Test func `a mark is read as it was written`() throws {
        let directory = TemporaryDirectory()
        #expect(try ReplicaMark(in: directory.path) == nil)
        var mark = ReplicaMark(store: "ab")
        (mark.boot, mark.through, mark.term) = ("run", 4711, "cd")
        try mark.write(in: directory.path)
        #expect(try ReplicaMark(in: directory.path) == mark)
    }
}
