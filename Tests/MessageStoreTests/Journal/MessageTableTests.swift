import Testing

@testable import MessageStore

/// Compares the message table with a dictionary.
struct MessageTableTests {
    /// Random numbers that are the same in every run.
    private struct Sequence: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29) &* 0xbf58_476d_1ce4_e5b9
        }
    }

    /// The distribution of the keys.
    enum Keys: CaseIterable {
        /// Uniform, like hashes.
        case uniform
        /// All with the same second half, which selects the page.
        case onePage
        /// All with the same last bits of the first half, which select the slot.
        case oneSlot
    }

    private func key(_ number: Int, _ keys: Keys) -> MessageKey {
        var sequence = Sequence(state: UInt64(number) &* 0x9e37_79b9_7f4a_7c15)
        return switch keys {
        case .uniform: MessageKey(high: sequence.next(), low: sequence.next())
        case .onePage: MessageKey(high: sequence.next(), low: 7)
        case .oneSlot: MessageKey(high: UInt64(number) << 32, low: sequence.next())
        }
    }

    private func contents(_ table: MessageTable) -> [MessageKey: UInt64] {
        var contents: [MessageKey: UInt64] = [:]
        table.forEach { key, record in
            #expect(contents.updateValue(record, forKey: key) == nil)
        }
        return contents
    }

    @Test(arguments: Keys.allCases)
    func `a table and a dictionary have the same contents after the same changes`(_ keys: Keys) {
        var random = Sequence(state: 12)
        var table = MessageTable()
        var dictionary: [MessageKey: UInt64] = [:]
        let count = keys == .uniform ? 20_000 : 2_000
        for step in 1...count * 5 {
            let key = key(Int.random(in: 0..<count, using: &random), keys)
            let record = UInt64(step)
            switch UInt8.random(in: 0..<10, using: &random) {
            case 0..<5:
                #expect(table.insert(key, record: record) == dictionary[key])
                if dictionary[key] == nil { dictionary[key] = record }
            case 5..<7:
                #expect(table.update(key, record: record) == (dictionary[key] != nil))
                if dictionary[key] != nil { dictionary[key] = record }
            case 7..<9:
                #expect(table.remove(key) == (dictionary.removeValue(forKey: key) != nil))
            default:
                #expect(table.record(of: key) == dictionary[key])
            }
            #expect(table.count == dictionary.count)
        }
        #expect(contents(table) == dictionary)
    }

    @Test func `the table uses at most 64 bytes per message, for any number of messages`() {
        var table = MessageTable()
        for number in 1...200_000 {
            #expect(table.insert(key(number, .uniform), record: UInt64(number)) == nil)
            if number >= 1000, number % 1000 == 0 { #expect(table.sizeBytes <= 64 * number) }
        }
        for number in 1...200_000 { #expect(table.record(of: key(number, .uniform)) == UInt64(number)) }
    }

    @Test func `a copy of the table keeps its contents while the table changes`() {
        var table = MessageTable()
        for number in 1...5_000 { _ = table.insert(key(number, .uniform), record: UInt64(number)) }
        let copy = table
        for number in 1...5_000 { table.remove(key(number, .uniform)) }
        #expect(table.count == 0)
        #expect(contents(copy).count == 5_000)
    }
}
