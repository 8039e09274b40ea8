import BalloonJSON
import BalloonPOSIX

/// The first line of a conversation's file whose oldest lines were removed: `{"format":2,"from":501}`.
///
/// `from` is the number of the oldest kept line. A file without this header begins with line 1.
struct ConversationHeader: Hashable, Sendable {
    /// The number of the first line behind the header.
    let from: Int
    /// The size of the header with its line feed, in bytes; 0 for a file without a header.
    let sizeBytes: Int

    /// Stands for a file without a header, whose first line is at offset 0.
    static let none = ConversationHeader(from: 1, sizeBytes: 0)
    static let maximumBytes = 64
    private static let start = Array("{\"format\":2,\"from\":".utf8)

    private init(from: Int, sizeBytes: Int) {
        self.from = from
        self.sizeBytes = sizeBytes
    }

    /// Parses the beginning of a file; ``none`` when it has no header.
    init(_ bytes: some Collection<UInt8>) {
        let beginning = Array(bytes.prefix(Self.maximumBytes))
        self = .none
        guard beginning.starts(with: Self.start), let feed = beginning.firstIndex(of: UInt8(ascii: "\n"))
        else { return }
        let digits = beginning[Self.start.count..<feed].dropLast()
        guard beginning[feed - 1] == UInt8(ascii: "}"), (1...15).contains(digits.count),
            digits.allSatisfy(\.isDigit),
            let from = Int(String(decoding: digits, as: UTF8.self)), from > 1
        else { return }
        self.init(from: from, sizeBytes: feed + 1)
    }

    /// Reads the beginning of a file.
    init(of file: File) throws(SystemError) {
        self.init(try file.read(at: 0, count: Self.maximumBytes))
    }

    /// Returns the header of a file whose first line has this number; empty for number 1.
    static func bytes(from number: Int) -> [UInt8] {
        number > 1 ? start + Array("\(number)}\n".utf8) : []
    }
}
