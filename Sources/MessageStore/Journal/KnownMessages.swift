import BalloonPOSIX
import Synchronization

/// The messages of one generation of a ``MessageIndex``, in a file that never changes.
///
/// The file has pages of 4 KiB, each with up to 170 messages in the order of their keys and a checksum, and then what is kept in
/// memory: the first key of each page, and a filter. The filter has 12 bits for each message, and finds that about one of 150
/// unknown messages may be known; only for such a message, and for a copy, is a page read.
///
/// A page that cannot be read has no messages: a copy of one of its messages is then stored again, as after the window.
final class KnownMessages: Sendable {
    /// The name of the file.
    let name: String
    /// The number of messages.
    let count: Int
    /// The greatest record of the messages.
    let lastRecord: UInt64
    private let file: File
    /// The first half of each page's first key.
    private let starts: [UInt64]
    private let filter: Filter
    private let unreadable = Atomic(false)

    private static let magic: UInt64 = 0x31_776f_6e4b_6c42
    private static let pageBytes = 4096
    /// 24 bytes for each message, and 16 for the checksum.
    private static let messagesInPage = 170

    /// Opens a file; nil when it is missing or damaged, or has another number of messages.
    convenience init?(number: UInt64, count: Int, in folder: String) {
        let name = Self.name(number)
        let pages = count / Self.messagesInPage + (count.isMultiple(of: Self.messagesInPage) ? 0 : 1)
        guard let file = try? File(folder + "/" + name, for: .reading), let sizeBytes = try? file.sizeBytes(),
            sizeBytes / Self.pageBytes >= pages,
            let rest = try? file.read(at: pages * Self.pageBytes, count: sizeBytes - pages * Self.pageBytes)
        else { return nil }
        // An error is dropped: a file that cannot be parsed is damaged.
        guard var rest = try? SnapshotDecoder(rest), (try? rest.next()) == Self.magic,
            (try? rest.next()) == UInt64(count), let lastRecord = try? rest.next(),
            let starts = try? rest.list({ try $0.next() }), starts.count == pages,
            let words = try? rest.list({ try $0.next() }), let filter = Filter(words)
        else { return nil }
        self.init(
            name: name, file: file, count: count, lastRecord: lastRecord, starts: starts, filter: filter)
    }

    private init(name: String, file: File, count: Int, lastRecord: UInt64, starts: [UInt64], filter: Filter) {
        self.name = name
        self.file = file
        self.count = count
        self.lastRecord = lastRecord
        self.starts = starts
        self.filter = filter
    }

    /// Writes the messages of a table, all of which have records, to a file, which is on disk when the function returns.
    static func write(_ table: MessageTable, number: UInt64, in folder: String) throws(SystemError)
        -> KnownMessages
    {
        var messages: [MessageTable.Slot] = []
        messages.reserveCapacity(table.count)
        table.forEach { key, record in messages.append(MessageTable.Slot(key: key, record: record)) }
        messages.sort { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }
        var filter = Filter(for: messages.count)
        var starts: [UInt64] = []
        var lastRecord: UInt64 = 0
        try Directory.make(folder)
        let path = folder + "/" + name(number)
        // In pieces, because the whole content would be the most memory that a loaded server needs.
        try AtomicFile.write(to: path) { file throws(SystemError) in
            for start in stride(from: 0, to: messages.count, by: messagesInPage) {
                var page = SnapshotEncoder(capacity: pageBytes)
                starts.append(messages[start].key.high)
                for index in start..<start + messagesInPage {
                    let message = index < messages.count ? messages[index] : .empty
                    page.append(message.key.high)
                    page.append(message.key.low)
                    page.append(message.record)
                    guard message.record > 0 else { continue }
                    lastRecord = max(lastRecord, message.record)
                    filter.insert(message.key)
                }
                page.append(UInt64(0))
                try file.append(page.finish())
            }
            var rest = SnapshotEncoder(capacity: filter.words.count * 8 + starts.count * 8 + 64)
            for value in [magic, UInt64(messages.count), lastRecord] { rest.append(value) }
            rest.append(starts) { $0.append($1) }
            rest.append(filter.words) { $0.append($1) }
            try file.append(rest.finish())
        }
        return KnownMessages(
            name: name(number), file: try File(path, for: .reading), count: messages.count,
            lastRecord: lastRecord, starts: starts, filter: filter)
    }

    /// The record of a message; nil when it is unknown or its page cannot be read.
    func record(of key: MessageKey) -> UInt64? {
        guard filter.mayContain(key) else { return nil }
        // Two keys with the same first half may be on two pages.
        var page = firstPage(of: key)
        while page < starts.count, starts[page] <= key.high {
            if let record = record(of: key, in: page) { return record }
            page += 1
        }
        return nil
    }

    private func record(of key: MessageKey, in page: Int) -> UInt64? {
        guard let bytes = try? file.read(at: page * Self.pageBytes, count: Self.pageBytes),
            var messages = try? SnapshotDecoder(bytes)
        else {
            unreadable.store(true, ordering: .relaxed)
            return nil
        }
        while let high = try? messages.next(), let low = try? messages.next(),
            let record = try? messages.next()
        {
            if record > 0, key == MessageKey(high: high, low: low) { return record }
        }
        return nil
    }

    /// The first page that may have a message: the last one that starts with a smaller key.
    private func firstPage(of key: MessageKey) -> Int {
        max(0, starts.indices.partitioningIndex { starts[$0] >= key.high } - 1)
    }

    /// Whether a page could not be read since the last call.
    func takeUnreadable() -> Bool { unreadable.exchange(false, ordering: .relaxed) }

    private static func name(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 12 - digits.utf8.count)) + digits
    }
}

/// A Bloom filter of message keys whose bits for one key are in one line of the processor's cache.
private struct Filter {
    private(set) var words: [UInt64]

    init(for count: Int) { words = Array(repeating: 0, count: 8 * (count / 42 + 1)) }

    init?(_ words: [UInt64]) {
        guard !words.isEmpty, words.count.isMultiple(of: 8) else { return nil }
        self.words = words
    }

    mutating func insert(_ key: MessageKey) {
        let line = line(of: key)
        for bit in 0..<6 { words[line + place(bit, key)] |= mask(bit, key) }
    }

    func mayContain(_ key: MessageKey) -> Bool {
        let line = line(of: key)
        for bit in 0..<6 where words[line + place(bit, key)] & mask(bit, key) == 0 { return false }
        return true
    }

    private func line(of key: MessageKey) -> Int {
        Int(truncatingIfNeeded: key.low.multipliedFullWidth(by: UInt64(words.count / 8)).high) * 8
    }

    /// The word of a bit in its line, from nine bits of the key.
    private func place(_ bit: Int, _ key: MessageKey) -> Int {
        Int(truncatingIfNeeded: key.high >> (9 * bit + 6)) & 7
    }

    private func mask(_ bit: Int, _ key: MessageKey) -> UInt64 { 1 << (key.high >> (9 * bit) & 63) }
}
