import Testing

@testable import MessageStore

/// The header of a file in a tar archive.
struct TarHeaderTests {
    private static let digits = String(repeating: "a", count: 64)

    @Test(arguments: [
        "VERSION", "conversations/b/aa/\(digits).jsonl",
        "conversations/\(String(repeating: "b", count: 100))/aa/\(digits).jsonl",
        "damaged/journal/000000000001.jsonl",
    ])
    func `a header that is written is read`(_ path: String) throws {
        let header = TarHeader(path: path, sizeBytes: 1_234_567, modifiedAt: 1_764_000_000)
        let block = try #require(header.block)
        #expect(block.count == 512)
        #expect(TarHeader(block) == header)
    }

    @Test func `the fields are where POSIX has them`() throws {
        let block = try #require(TarHeader(path: "a/b", sizeBytes: 8, modifiedAt: 9).block)
        func field(_ range: Range<Int>) -> String { String(decoding: block[range], as: UTF8.self) }
        #expect(field(0..<4) == "a/b\0")
        #expect(field(100..<108) == "0000600\0")
        #expect(field(124..<136) == "00000000010\0")
        #expect(field(136..<148) == "00000000011\0")
        #expect(field(156..<157) == "0")
        #expect(field(257..<265) == "ustar\u{0}00")
    }

    @Test(arguments: [
        ("", 1), (String(repeating: "a", count: 101), 1),
        (String(repeating: "a", count: 156) + "/b", 1), ("a", TarHeader.maximumBytes + 1), ("a", -1),
    ])
    func `a path or a size that does not fit has no header`(_ path: String, _ size: Int) {
        #expect(TarHeader(path: path, sizeBytes: size, modifiedAt: 0).block == nil)
    }

    @Test func `a changed block is refused, whatever byte is changed`() throws {
        let block = try #require(TarHeader(path: "a", sizeBytes: 8, modifiedAt: 9).block)
        for index in block.indices {
            var changed = block
            changed[index] ^= 1
            #expect(TarHeader(changed) == nil, "\(index)")
        }
        #expect(TarHeader(Array(block.dropLast())) == nil)
        #expect(TarHeader([UInt8](repeating: 0xff, count: 512)) == nil)
    }

    @Test(arguments: [
        ("conversations/b/aa/x.jsonl", true), ("people.json", true), ("journal/1.jsonl", true),
        ("../people.json", false), ("/etc/passwd", false), ("conversations/../../x", false),
        ("conversations//x", false), ("conversations/./x", false), ("requests/aa/x.json", false),
        ("lock", false),
        ("conversations/a/b/c/d/e", false), ("", false), ("VERSION", false), ("a\0b", false),
        ("conversations/../\u{301}x", false), ("conversations/b/aa/\u{301}x.jsonl", true),
    ])
    func `a restoration writes only files of a data directory`(_ path: String, _ isAllowed: Bool) {
        #expect(BackupReader.isAllowed(path) == isAllowed)
    }
}
