import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

struct IndexFileTests {
    private let temporary = TemporaryDirectory()

    private var path: String { temporary.file("index") }

    private func entry(_ number: Int, business: UInt16 = 0) -> IndexEntry {
        IndexEntry(
            ConversationDigest(of: CustomerID("\(number)")), business: business, at: Int64(number) - 3,
            lines: UInt32(number), kindNumber: UInt8(number % 5), isOutbound: number % 2 == 0,
            oldestDay: UInt16(number % 400))
    }

    private func read(
        identity: String = "i", _ apply: (IndexBlock) -> Void = { _ in }
    ) throws -> IndexFile.Content {
        try IndexFile.read(path, identity: identity) { block, _ in
            apply(block)
            return true
        }
    }

    /// The entries of each business, whose numbers are not in the file.
    private func entries() throws -> [String: [IndexEntry]] {
        var entries: [String: [IndexEntry]] = [:]
        _ = try read { block in
            if !block.entries.isEmpty { entries[block.folder, default: []] += block.entries }
        }
        return entries
    }

    @Test func `a file's blocks are read as they were written`() throws {
        var file = try IndexFile(replacing: path, identity: "i", on: SystemDisk())
        let all = (0..<9000).map { entry($0, business: UInt16($0 % 2)) }
        let folders = ["b", "x-" + String(repeating: "0f", count: 32)]
        try file.append(all, of: folders)
        try file.append(IndexBlock(through: 77))
        #expect(!Directory.exists(path))
        try file.install()
        let content = try read()
        #expect(content.through == 77)
        #expect(content.sizeBytes == file.sizeBytes)
        let expected = Dictionary(grouping: all) { folders[Int($0.business)] }
        #expect(try entries() == expected.mapValues { $0.map { $0.numbered(0) } })
    }

    @Test func `a file is continued with entries of other businesses`() throws {
        var file = try IndexFile(replacing: path, identity: "i", on: SystemDisk())
        try file.append([entry(1)], of: ["b"])
        try file.install()
        var again = try IndexFile(continuing: try read(), at: path, on: SystemDisk())
        try again.append([entry(2, business: 1), entry(3, business: 0)], of: ["c", "b"])
        #expect(try entries() == ["b": [entry(1), entry(2)], "c": [entry(3)]])
    }

    @Test func `of a file that is cut at any byte, the intact blocks are read`() throws {
        var file = try IndexFile(replacing: path, identity: "i", on: SystemDisk())
        let header = file.sizeBytes
        try file.append([entry(1), entry(2)], of: ["b"])
        try file.append(IndexBlock(through: 5))
        let first = file.sizeBytes
        try file.append([entry(3)], of: ["b"])
        try file.append(IndexBlock(through: 9))
        try file.install()
        let bytes = try File(path, for: .reading).readAll()
        for cut in stride(from: 0, to: bytes.count, by: 3) {
            try AtomicFile.write(Array(bytes[..<cut]), to: path)
            guard let content = try? read() else {
                // Not even the header block is intact.
                #expect(cut < header)
                continue
            }
            #expect(content.sizeBytes <= cut)
            #expect(content.through == (cut >= first ? 5 : 0))
        }
    }

    @Test func `of a file with one changed byte, only the blocks before that byte are read`() throws {
        var file = try IndexFile(replacing: path, identity: "i", on: SystemDisk())
        try file.append([entry(1), entry(2)], of: ["b"])
        try file.append(IndexBlock(through: 5))
        try file.install()
        let bytes = try File(path, for: .reading).readAll()
        for place in stride(from: 0, to: bytes.count, by: 5) {
            var changed = bytes
            changed[place] ^= 0x10
            try AtomicFile.write(changed, to: path)
            guard let content = try? read() else { continue }
            #expect(content.sizeBytes <= place)
            #expect(content.through == 0)
        }
    }

    @Test func `a file of another directory is foreign, and a missing one is missing`() throws {
        #expect(throws: IndexFile.Misfit.self) { try read() }
        var file = try IndexFile(replacing: path, identity: "i", on: SystemDisk())
        try file.append(IndexBlock(through: 5))
        try file.install()
        #expect(throws: IndexFile.Misfit.self) { try read(identity: "j") }
        try AtomicFile.write(Array(repeating: 0x20, count: 10_000), to: path)
        #expect(throws: IndexFile.Misfit.self) { try read() }
    }
}
