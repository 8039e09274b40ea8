import BalloonPOSIX
import BalloonWire

/// Bytes that the gateway stores in memory, or in an unnamed file that exists as long as this value.
struct StoredContent: Sendable {
    private enum Place: Sendable {
        case memory([UInt8])
        case file(File)
    }

    private let place: Place
    let sizeBytes: Int

    /// Stores bytes in memory.
    init(_ bytes: [UInt8]) {
        place = .memory(bytes)
        sizeBytes = bytes.count
    }

    fileprivate init(_ file: File, sizeBytes: Int) {
        place = .file(file)
        self.sizeBytes = sizeBytes
    }

    /// At most `count` bytes from `offset` on.
    func read(at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
        switch place {
        case .memory(let bytes): Array(bytes[min(offset, bytes.count)..<min(offset + count, bytes.count)])
        case .file(let file): try file.read(at: offset, count: count)
        }
    }

    /// All bytes.
    func readAll() throws(SystemError) -> [UInt8] { try read(at: 0, count: sizeBytes) }
}

/// Stores bytes piece by piece and computes their checksum.
struct StoredContentWriter: ~Copyable {
    private static let maximumMemoryBytes = 64 << 10

    private var bytes: [UInt8] = []
    private var file: File?
    private var sizeBytes = 0
    private let checksum = AttachmentChecksum()

    /// Appends bytes.
    mutating func append(_ piece: [UInt8]) throws(SystemError) {
        checksum.append(piece)
        sizeBytes += piece.count
        if let file { return try file.append(piece) }
        bytes += piece
        guard bytes.count > Self.maximumMemoryBytes else { return }
        let file = try Self.nameless()
        try file.append(bytes)
        self.file = file
        bytes = []
    }

    /// The stored bytes and their checksum.
    consuming func finish() -> (content: StoredContent, checksum: [UInt8]) {
        let content = file.map { StoredContent($0, sizeBytes: sizeBytes) } ?? StoredContent(bytes)
        return (content, checksum.bytes)
    }

    /// A file without a name, which disappears when its descriptor is closed.
    private static func nameless() throws(SystemError) -> File {
        let folder = ProcessEnvironment.variables()["TMPDIR"] ?? "/tmp"
        let path = "\(folder)/balloon-\(Hex.encode(randomBytes(12)))"
        let file = try File(path, for: .creating)
        try Directory.remove(path)
        return file
    }
}
