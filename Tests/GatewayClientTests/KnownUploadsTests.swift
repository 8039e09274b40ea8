import BalloonPOSIX
import BusinessMessages
import Dispatch
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct KnownUploadsTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file("uploads.jsonl") }

    private func key(_ text: String) -> KnownUploads.Key {
        KnownUploads.Key(text.utf8, of: BusinessID("b"))
    }

    private func text(_ uploads: KnownUploads, _ name: String, now: Int = 1000) -> String? {
        uploads.value(for: key(name), now: now).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `an upload is known by its content and its business, for 25 days`() {
        let uploads = KnownUploads()
        uploads.remember(Array("1".utf8), for: key("a"), now: 1000)
        #expect(text(uploads, "a") == "1")
        #expect(text(uploads, "b") == nil)
        #expect(uploads.value(for: KnownUploads.Key("a".utf8, of: BusinessID("c")), now: 1000) == nil)
        #expect(text(uploads, "a", now: 1000 + 25 * 86_400 - 1) == "1")
        #expect(text(uploads, "a", now: 1000 + 25 * 86_400) == nil)
        // After the clock was set back, the age of the entry is unknown, so the entry is not used.
        #expect(text(uploads, "a", now: 999) == nil)
        uploads.forget(key("a"))
        #expect(text(uploads, "a") == nil)
    }

    @Test func `after all uploads are forgotten, the file has no trace of them, and later ones are known`()
        throws
    {
        let uploads = KnownUploads(path: path)
        for name in ["a", "b"] { uploads.remember(Array("1".utf8), for: key(name), now: 1000) }
        uploads.forgetAll()
        #expect(text(uploads, "a") == nil)
        #expect(try File(path, for: .reading).readAll().isEmpty)
        uploads.remember(Array("2".utf8), for: key("c"), now: 1000)
        uploads.flush()
        let restarted = KnownUploads(path: path)
        #expect(text(restarted, "c") == "2" && text(restarted, "a") == nil)
    }

    @Test func `the oldest upload is forgotten when there are too many`() {
        let uploads = KnownUploads(maximumCount: 2)
        for name in ["a", "b", "a", "c"] { uploads.remember(Array("1".utf8), for: key(name), now: 1000) }
        #expect(["a", "b", "c"].map { text(uploads, $0) != nil }.count { $0 } == 2)
        #expect(text(uploads, "c") == "1")
    }

    @Test func `an upload that is recorded again many times leaves the others known`() {
        let uploads = KnownUploads(maximumCount: 3)
        uploads.remember(Array("1".utf8), for: key("b"), now: 1000)
        for now in 1001...1100 { uploads.remember(Array("1".utf8), for: key("a"), now: now) }
        uploads.remember(Array("1".utf8), for: key("c"), now: 1101)
        #expect(["a", "b", "c"].map { text(uploads, $0, now: 1101) } == ["1", "1", "1"])
        uploads.remember(Array("1".utf8), for: key("d"), now: 1102)
        #expect(["a", "b", "c", "d"].map { text(uploads, $0, now: 1102) } == ["1", nil, "1", "1"])
    }

    @Test func `known uploads survive a restart, and their file is compacted`() throws {
        for round in 1...20 {
            let uploads = KnownUploads(path: path, maximumCount: 3)
            if round > 1 { #expect(text(uploads, "a", now: round) == "\(round - 1)") }
            uploads.remember(Array("\(round)".utf8), for: key("a"), now: round)
            uploads.remember(Array("0".utf8), for: key("b"), now: round)
            if round == 20 { uploads.forget(key("b")) }
            uploads.flush()
        }
        let uploads = KnownUploads(path: path)
        #expect(text(uploads, "a") == "20")
        #expect(text(uploads, "b") == nil)
        #expect(try File(path, for: .reading).readAll().count < 2000)
    }

    @Test func `a file of uploads with another format is ignored`() throws {
        try AtomicFile.write(Array("{}\nnonsense\n{\"key\":1}\n".utf8), to: path)
        let uploads = KnownUploads(path: path)
        uploads.remember(Array("1".utf8), for: key("a"), now: 1000)
        uploads.flush()
        #expect(text(KnownUploads(path: path), "a") == "1")
    }
}
