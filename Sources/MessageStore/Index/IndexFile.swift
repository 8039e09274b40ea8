import BalloonPOSIX
import BusinessMessages

/// The file of an index of conversations: blocks are only appended, until a new file replaces it.
///
/// All its content can be computed from the conversations. A damaged or outdated file is therefore not
/// repaired, but replaced by a new one.
struct IndexFile: Sendable {
    /// The reason why a file is not used.
    enum Misfit: Error, CustomStringConvertible {
        case missing
        case unreadable(SystemError)
        /// The file is of another data directory or version, or the beginning is damaged.
        case foreign
        /// The file is not complete through the journal's last checkpoint, or continues after the journal's end.
        case outdated(through: UInt64)

        var description: String {
            switch self {
            case .missing: "the file is missing"
            case .unreadable(let error): "the file is unreadable: \(error)"
            case .foreign: "the file is of another data directory or version, or its beginning is damaged"
            case .outdated(let record):
                "the file is complete through record \(record), which does not fit the journal"
            }
        }
    }

    /// The intact blocks at the beginning of a file.
    struct Content: Sendable {
        var sizeBytes = 0
        /// The journal record through which the blocks are complete.
        var through: UInt64 = 0
    }

    private let path: String
    private let disk: any StoreDisk
    private let file: File
    private(set) var sizeBytes = 0

    /// Opens a file to append blocks after its intact ones; removes what follows these.
    init(continuing content: Content, at path: String, on disk: any StoreDisk) throws(SystemError) {
        self.path = path
        self.disk = disk
        file = try disk.open(path)
        sizeBytes = content.sizeBytes
        if try file.sizeBytes() > sizeBytes { try disk.truncate(file, to: sizeBytes) }
    }

    /// Creates a file under a temporary name; ``install()`` gives it its name.
    init(replacing path: String, identity: String, on disk: any StoreDisk) throws(SystemError) {
        self.path = path
        self.disk = disk
        // A killed process may have left a temporary file; the error is ignored, because usually there is
        // none.
        try? disk.remove(Self.temporary(path))
        file = try disk.create(Self.temporary(path))
        try append(IndexBlock(of: Self.beginning(identity)))
    }

    /// Appends a block.
    mutating func append(_ block: IndexBlock) throws(SystemError) {
        let bytes = block.encoded
        try disk.append(bytes, to: file)
        sizeBytes += bytes.count
    }

    /// Appends entries; `folders` has the folder of each business number that they contain.
    mutating func append(_ entries: [IndexEntry], of folders: [String]) throws(SystemError) {
        for (business, entries) in Dictionary(grouping: entries, by: \.business) {
            for start in stride(from: 0, to: entries.count, by: IndexBlock.maximumElements) {
                let some = Array(entries[start...].prefix(IndexBlock.maximumElements))
                try append(IndexBlock(some, of: folders[Int(business)]))
            }
        }
    }

    /// Waits until all blocks are on disk.
    func synchronize() throws(SystemError) { try disk.synchronize(file) }

    /// Waits until all blocks are on disk, and then renames the temporary file to the file's name.
    func install() throws(SystemError) {
        try disk.synchronize(file)
        try Directory.rename(Self.temporary(path), to: path)
        try disk.synchronizeDirectory(Directory.parent(of: path))
    }

    private static func temporary(_ path: String) -> String { path + ".new" }

    /// The text of the first block, which shows whether the file fits the directory and the program.
    private static func beginning(_ identity: String) -> String {
        ([identity] + IndexEntry.kinds.map(\.rawValue)).joined(separator: " ")
    }

    /// Reads the blocks of a file in order; stops at its end, at damage, or when `apply` returns false.
    ///
    /// `apply` receives each block after the first one, and the total size of this block and all earlier ones
    /// in bytes.
    static func read(
        _ path: String, identity: String, _ apply: (IndexBlock, Int) -> Bool
    ) throws(Misfit) -> Content {
        do throws(SystemError) {
            let file = try File(path, for: .reading)
            var content = Content()
            while let (block, size) = try block(of: file, at: content.sizeBytes) {
                let isFirst = content.sizeBytes == 0
                if isFirst, block.folder != beginning(identity) { break }
                content.sizeBytes += size
                content.through = max(content.through, block.through)
                if !isFirst, !apply(block, content.sizeBytes) { return content }
            }
            if content.sizeBytes > 0 { return content }
        } catch {
            throw error.isMissing ? .missing : .unreadable(error)
        }
        throw .foreign
    }

    private static func block(
        of file: File, at offset: Int
    ) throws(SystemError) -> (block: IndexBlock, sizeBytes: Int)? {
        let header = try file.read(at: offset, count: IndexBlock.headerBytes)
        guard let size = IndexBlock.sizeBytes(header) else { return nil }
        let bytes = try file.read(at: offset, count: size)
        guard bytes.count == size, let block = try? IndexBlock(bytes) else { return nil }
        return (block, size)
    }
}
