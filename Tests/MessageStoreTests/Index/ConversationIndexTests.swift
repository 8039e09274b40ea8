import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// Compares the index with a plain list that is sorted for each query.
struct ConversationIndexTests {
    /// Random numbers that are the same in every run.
    private struct Sequence: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29) &* 0xbf58_476d_1ce4_e5b9
        }
    }

    /// The expected lists, made without an index.
    private struct List {
        var known: [ConversationName: ConversationIndex.Line] = [:]

        /// Every conversation of the business, in order.
        func sorted(of business: String) -> [(key: ConversationName, value: ConversationIndex.Line)] {
            known.filter { name, _ in name.business == business }.sorted {
                ($0.value.at.milliseconds, $0.key.digest) > (
                    $1.value.at.milliseconds, $1.key.digest
                )
            }
        }
    }

    /// The names of the sorted lines that the filter selects.
    private func select(
        _ filter: ConversationIndex.Filter,
        from sorted: [(key: ConversationName, value: ConversationIndex.Line)]
    ) -> [ConversationName] {
        sorted.filter { name, line in
            !filter.excluded.contains(name.digest.first)
                && (filter.kind == nil || filter.kind == line.kind)
                && (filter.since.map { line.at >= $0 } ?? true)
                && (filter.until.map { line.at < $0 } ?? true)
        }.map(\.key)
    }

    private func name(_ number: Int, of business: String = "b") -> ConversationName {
        ConversationName(ConversationDigest(of: CustomerID("urn:mbid:\(number)")), in: business)
    }

    private func line(
        _ at: Int64, _ kind: Kind = .text, isOutbound: Bool = false, sequence: Int = 1
    ) -> ConversationIndex.Line {
        ConversationIndex.Line(
            at: Timestamp(milliseconds: at), kind: kind, isOutbound: isOutbound, sequence: sequence)
    }

    /// Every page of a list, with at most `limit` entries each.
    private func walk(
        _ index: ConversationIndex, of business: String, _ filter: ConversationIndex.Filter, limit: Int,
        budget: Int
    ) -> [ConversationName] {
        var names: [ConversationName] = []
        var position: IndexEntry.Position?
        repeat {
            let page = index.page(of: business, filter, before: position, limit: limit, budget: budget)
            #expect(page.entries.count <= limit && page.examined <= budget)
            names += page.entries.map { ConversationName($0.digest, in: business) }
            position = page.next
        } while position != nil
        return names
    }

    @Test func `an index and a sorted list answer the same after the same changes`() {
        var random = Sequence(state: 15)
        var index = ConversationIndex()
        var list = List()
        let businesses = ["b", "c"]
        for step in 1...30_000 {
            let name = name(Int.random(in: 0..<4000, using: &random), of: businesses[step % 2])
            switch UInt8.random(in: 0..<20, using: &random) {
            case 0..<17:
                // The new line is usually the latest; sometimes it is older, as after the clock was set back.
                let isLate = Bool.random(using: &random) || Bool.random(using: &random)
                let at = isLate ? Int64(step) : Int64.random(in: 0...Int64(step), using: &random)
                let line = line(
                    at, Kind.allCases.randomElement(using: &random) ?? .text,
                    isOutbound: Bool.random(using: &random), sequence: step)
                index.record(line, of: name)
                list.known[name] = line
            default:
                index.remove(name)
                list.known[name] = nil
            }
            guard step % 1500 == 0 else { continue }
            #expect(index.count == list.known.count)
            var filter = ConversationIndex.Filter()
            for business in businesses {
                let sorted = list.sorted(of: business)
                #expect(
                    walk(index, of: business, filter, limit: 200, budget: 300)
                        == select(filter, from: sorted))
                filter.since = Timestamp(milliseconds: Int64(step) / 4)
                filter.until = Timestamp(milliseconds: Int64(step) / 2)
                #expect(
                    walk(index, of: business, filter, limit: 7, budget: 300)
                        == select(filter, from: sorted))
                filter.kind = .form
                #expect(
                    walk(index, of: business, filter, limit: 7, budget: 5)
                        == select(filter, from: sorted))
                let all = sorted.map(\.key)
                filter = ConversationIndex.Filter(excluded: Set(all.prefix(50).map(\.digest.first)))
                #expect(
                    walk(index, of: business, filter, limit: 11, budget: 12)
                        == select(filter, from: sorted))
            }
        }
        for (name, known) in list.known {
            let entry = index.entry(of: name)
            let found = entry.map {
                line($0.milliseconds, $0.kind, isOutbound: $0.isOutbound, sequence: Int($0.lines))
            }
            #expect(found == known)
        }
    }

    @Test func `the next page continues after the last entry although newer lines arrived`() {
        var index = ConversationIndex()
        for number in 1...9 { index.record(line(Int64(number)), of: name(number)) }
        let first = index.page(of: "b", limit: 3)
        #expect(first.entries.map(\.milliseconds) == [9, 8, 7])
        // A new conversation, and a conversation of the first page, get a line.
        index.record(line(100), of: name(100))
        index.record(line(101), of: name(7))
        index.remove(name(6))
        let second = index.page(of: "b", before: first.next, limit: 3)
        #expect(second.entries.map(\.milliseconds) == [5, 4, 3])
        let third = index.page(of: "b", before: second.next, limit: 3)
        #expect(third.entries.map(\.milliseconds) == [2, 1])
        #expect(third.next == nil)
    }

    @Test func `a full last page has no next page`() {
        var index = ConversationIndex()
        for number in 1...4 { index.record(line(Int64(number)), of: name(number)) }
        #expect(index.page(of: "b", limit: 4).next == nil)
        #expect(index.page(of: "b", limit: 3).next != nil)
        #expect(index.page(of: "unknown", limit: 3).entries.isEmpty)
    }

    @Test func `a list whose filter matches nothing stops at its budget and returns the position`() {
        var index = ConversationIndex()
        for number in 1...100 { index.record(line(Int64(number)), of: name(number)) }
        let filter = ConversationIndex.Filter(kind: .form)
        let page = index.page(of: "b", filter, limit: 5, budget: 30)
        #expect(page.entries.isEmpty)
        #expect(page.next?.milliseconds == 71)
    }

    @Test func `an entry of the file does not replace a later line`() {
        var index = ConversationIndex()
        index.record(line(50, .form, sequence: 7), of: name(1))
        let old = IndexEntry(
            name(1).digest, business: 0, at: 40, lines: 6, kindNumber: 0, isOutbound: true, oldestDay: 0)
        let isOlderAdded = index.restore(old)
        #expect(!isOlderAdded)
        #expect(index.entry(of: name(1))?.lines == 7)
        let written = index.takeUnwritten(maximum: 10)
        #expect(written.map(\.lines) == [7])
        // The entry is written now, so an entry that is read from the file replaces it.
        let isAdded = index.restore(old)
        #expect(isAdded)
        #expect(index.entry(of: name(1))?.lines == 6)
        let unknown = IndexEntry(
            name(1).digest, business: 9, at: 40, lines: 6, kindNumber: 0, isOutbound: true, oldestDay: 0)
        let isUnknownAdded = index.restore(unknown)
        #expect(!isUnknownAdded)
    }

    @Test func `unwritten entries are returned once, and so are removed conversations`() {
        var index = ConversationIndex()
        for number in 1...10 { index.record(line(Int64(number)), of: name(number)) }
        index.record(line(20), of: name(3))
        index.remove(name(4))
        let first = index.takeUnwritten(maximum: 5)
        let second = index.takeUnwritten(maximum: 50)
        #expect(first.first?.digest == name(4).digest && first.first?.lines == 0)
        let written = (first + second).dropFirst()
        #expect(Set(written.map(\.milliseconds)) == [1, 2, 20, 5, 6, 7, 8, 9, 10])
        #expect(written.count == 9)
        let third = index.takeUnwritten(maximum: 5)
        #expect(third.isEmpty)
        index.record(line(9, .form), of: name(9))
        let moved = index.takeUnwritten(maximum: 5)
        #expect(moved.map(\.milliseconds) == [9])
    }

    @Test func `a walk reads every entry once`() {
        var index = ConversationIndex()
        for number in 0..<5000 {
            index.record(line(Int64(number / 3)), of: name(number, of: number % 7 == 0 ? "c" : "b"))
        }
        var cursor = ConversationIndex.Cursor()
        var digests: [ConversationDigest] = []
        while case let entries = index.next(&cursor, maximum: 100), !entries.isEmpty {
            #expect(entries.count <= 100)
            digests += entries.map(\.digest)
        }
        #expect(digests.count == 5000)
        #expect(Set(digests) == Set((0..<5000).map { name($0).digest }))
    }

    @Test func `a digest is formatted as hexadecimal digits and parsed from them`() {
        let digest = ConversationDigest(of: CustomerID("urn:mbid:c"))
        #expect(ConversationDigest(digest.hexadecimal) == digest)
        #expect(digest.hexadecimal.count == 64)
        for text in [
            "", "00", digest.hexadecimal + "0", digest.hexadecimal.uppercased(),
            String(repeating: "g", count: 64),
        ] {
            #expect(ConversationDigest(text) == nil)
        }
    }
}
