import BalloonPOSIX
import BalloonWire

/// Reads a backup's archive, and writes its files into a folder.
///
/// Every path is checked against the layout of a data directory. Each file's hash is compared with the list
/// of files, and the list's hash with the manifest, before `extract` returns. The list is held in memory, up
/// to 260 bytes for each file.
struct BackupReader {
    private static let pieceBytes = 256 << 10
    private let source: Backup.Source
    private let folder: String
    /// Bytes that were read and not used yet.
    private var rest: ArraySlice<UInt8> = []
    /// The lines that the archive's `SHA256SUMS` must have, computed from the extracted files.
    private var sums: [UInt8] = []
    private var files = 0
    private var bytes = 0

    init(from source: @escaping Backup.Source, into folder: String) {
        self.source = source
        self.folder = folder
    }

    /// Writes all files, with mode 0600, and returns the manifest; nothing is synced.
    mutating func extract() throws -> BackupManifest {
        var foundSums: [UInt8]?
        while let header = try nextHeader() {
            switch header.path {
            case BackupManifest.sumsPath:
                try checkSums(header)
                foundSums = sums
            case BackupManifest.path:
                guard foundSums != nil else { throw BackupError.damaged("it has no list of its files") }
                return try manifest(header)
            default: try extract(header)
            }
        }
        throw BackupError.incomplete
    }

    private mutating func manifest(_ header: TarHeader) throws -> BackupManifest {
        guard header.sizeBytes <= BackupManifest.maximumBytes else {
            throw BackupError.damaged("its manifest is too large")
        }
        var content: [UInt8] = []
        try forEachPiece(of: header) { content += $0 }
        let manifest = try BackupManifest(content)
        guard manifest.sumsHash == Hex.encode(SHA256.hash(sums)), manifest.files == files,
            manifest.bytes == bytes
        else { throw BackupError.differs(path: BackupManifest.sumsPath) }
        return manifest
    }

    /// Compares the list of the archive with the hashes of the files that were written.
    private mutating func checkSums(_ header: TarHeader) throws {
        let own = sums
        var listed: [UInt8] = []
        try forEachPiece(of: header) { piece in
            // A list that is longer than the expected one differs in any case, and the rest of it is not kept.
            if listed.count <= own.count { listed += piece }
        }
        if listed == own { return }
        let difference = zip(listed, own).prefix { $0 == $1 }.count
        throw BackupError.differs(path: Self.path(at: difference, in: own))
    }

    /// Returns the path on the line of `sums` that contains this offset.
    private static func path(at offset: Int, in sums: [UInt8]) -> String {
        let feed = UInt8(ascii: "\n")
        let start = sums[..<min(offset, sums.count)].lastIndex(of: feed).map { $0 + 1 } ?? 0
        let line = sums[start...].prefix { $0 != feed }
        return line.isEmpty ? BackupManifest.sumsPath : String(decoding: line.dropFirst(66), as: UTF8.self)
    }

    private mutating func extract(_ header: TarHeader) throws {
        guard Self.isAllowed(header.path) else {
            throw BackupError.damaged("it has a file that belongs to no data directory: \(header.path)")
        }
        let path = folder + "/" + header.path
        var hash = SHA256()
        do {
            try Directory.make(Directory.parent(of: path)) { _ in }
            let file = try File(path, for: .creating)
            var failure: SystemError?
            try forEachPiece(of: header) { piece in
                hash.update(piece.span)
                if failure != nil { return }
                do throws(SystemError) { try file.append(Array(piece)) } catch { failure = error }
            }
            if let failure { throw failure }
            try FileStatus.setModified(path, secondsSince1970: header.modifiedAt)
        } catch let error as SystemError {
            throw StoreError.unavailable(path: path, error)
        }
        sums += BackupWriter.line(header.path, hash.finish())
        files += 1
        bytes += header.sizeBytes
    }

    /// Returns whether a backup may contain a file with this path.
    static func isAllowed(_ path: String) -> Bool {
        // The system splits bytes; as characters, a slash before a combining mark is none.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Substring($0) }
        let names =
            Backup.conversationFolders + Backup.otherFolders + Backup.formerFolders
            + [Backup.journalFolder, Backup.contentFolder]
        guard let first = parts.first, !path.utf8.contains(0),
            parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
        else { return false }
        if parts.count == 1 { return Backup.otherFiles.contains(path) || path == ErasureLedger.fileName }
        return names.contains(String(first)) && parts.count <= 5
    }

    /// The next file's header; nil at the end of the archive.
    private mutating func nextHeader() throws -> TarHeader? {
        let block = try read(TarHeader.blockBytes)
        if block.isEmpty { return nil }
        guard block.count == TarHeader.blockBytes else { throw BackupError.incomplete }
        if block.allSatisfy({ $0 == 0 }) { return nil }
        guard let header = TarHeader(Array(block)) else {
            throw BackupError.damaged("it is no tar archive, or has something else than files")
        }
        return header
    }

    /// Calls `body` with the content of a file, in pieces, and skips the padding after the content.
    private mutating func forEachPiece(of header: TarHeader, _ body: (ArraySlice<UInt8>) -> Void) throws {
        var left = header.sizeBytes
        while left > 0 {
            let piece = try read(min(left, Self.pieceBytes))
            guard !piece.isEmpty else { throw BackupError.incomplete }
            left -= piece.count
            body(piece)
        }
        guard try read(header.paddingBytes).count == header.paddingBytes else { throw BackupError.incomplete }
    }

    /// Reads exactly `count` bytes; fewer only at the end of the archive.
    private mutating func read(_ count: Int) throws -> ArraySlice<UInt8> {
        while rest.count < count {
            let more: [UInt8]
            do throws(SystemError) { more = try source(max(Self.pieceBytes, count - rest.count)) } catch {
                throw BackupError.unreadable(error)
            }
            if more.isEmpty { break }
            rest = rest.isEmpty ? more[...] : (rest + more)[...]
        }
        let piece = rest.prefix(count)
        rest = rest.dropFirst(piece.count)
        return piece
    }
}
