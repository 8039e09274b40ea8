import BalloonPOSIX
import BalloonWire

/// Writes the files of a backup as a tar archive, and keeps the list of their hashes.
///
/// The list takes up to 260 bytes of memory for each file.
struct BackupWriter {
    private static let pieceBytes = 256 << 10

    private let sink: Backup.Sink
    private(set) var files = 0
    private(set) var bytes = 0
    /// The content of `SHA256SUMS` so far.
    private var sums: [UInt8] = []

    init(to sink: @escaping Backup.Sink) { self.sink = sink }

    /// Writes the first `sizeBytes` of an open file, which may be growing; `take` also receives every piece.
    mutating func add(
        _ file: File, as path: String, sizeBytes: Int, modifiedAt: Int,
        take: (ArraySlice<UInt8>) -> Void = { _ in }
    ) throws {
        try add(path, sizeBytes: sizeBytes, modifiedAt: modifiedAt) { write in
            var position = 0
            while position < sizeBytes {
                let piece = try file.read(at: position, count: min(Self.pieceBytes, sizeBytes - position))
                guard !piece.isEmpty else { throw BackupError.shrunk(path: path) }
                position += piece.count
                take(piece[...])
                try write(piece)
            }
        }
    }

    /// Writes a content from memory.
    mutating func add(_ content: [UInt8], as path: String, modifiedAt: Int) throws {
        try add(path, sizeBytes: content.count, modifiedAt: modifiedAt) { write in try write(content) }
    }

    private mutating func add(
        _ path: String, sizeBytes: Int, modifiedAt: Int,
        _ writeContent: (_ write: ([UInt8]) throws -> Void) throws -> Void
    ) throws {
        let header = TarHeader(path: path, sizeBytes: sizeBytes, modifiedAt: modifiedAt)
        guard let block = header.block else { throw BackupError.unfit(path: path) }
        try write(block)
        var hash = SHA256()
        try writeContent { piece in
            hash.update(piece.span)
            try write(piece)
        }
        if header.paddingBytes > 0 { try write([UInt8](repeating: 0, count: header.paddingBytes)) }
        sums += Self.line(path, hash.finish())
        files += 1
        bytes += sizeBytes
    }

    /// Writes the list of hashes and the manifest, and ends the archive; returns the manifest.
    mutating func finish(
        _ manifest: (_ files: Int, _ bytes: Int, _ sumsHash: String) -> BackupManifest
    ) throws -> BackupManifest {
        let (files, bytes, sums) = (files, bytes, sums)
        let manifest = manifest(files, bytes, Hex.encode(SHA256.hash(sums)))
        let modifiedAt = Int(manifest.at.milliseconds / 1000)
        try add(sums, as: BackupManifest.sumsPath, modifiedAt: modifiedAt)
        try add(manifest.content, as: BackupManifest.path, modifiedAt: modifiedAt)
        try write([UInt8](repeating: 0, count: 2 * TarHeader.blockBytes))
        return manifest
    }

    private func write(_ bytes: [UInt8]) throws {
        do throws(SystemError) { try sink(bytes) } catch { throw BackupError.unwritten(error) }
    }

    /// Returns the line of a file in `SHA256SUMS`.
    static func line(_ path: String, _ digest: InlineArray<32, UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in digest.indices { bytes.append(digest[index]) }
        return Array("\(Hex.encode(bytes))  \(path)\n".utf8)
    }
}
