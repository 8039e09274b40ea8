import BalloonWire
import Testing

struct SealingKeyTests {
    @Test(arguments: [0, 1, 16, 4097])
    func `a text opens with its key only, and not when a bit was changed`(_ count: Int) throws {
        let key = try #require(SealingKey(.random(byteCount: 32)))
        let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = key.seal(plain)
        #expect(sealed.count == count + SealingKey.overheadBytes)
        #expect(key.open(sealed) == plain)
        #expect(key.seal(plain) != sealed)
        #expect(try #require(SealingKey(.random(byteCount: 32))).open(sealed) == nil)
        for place in [0, sealed.count / 2, sealed.count - 1] {
            var changed = sealed
            changed[place] ^= 1
            #expect(key.open(changed) == nil)
        }
        #expect(key.open(Array(sealed.dropLast())) == nil)
        #expect(key.open([]) == nil)
    }

    @Test(arguments: [16, 31, 33]) func `a key has 32 bytes`(_ count: Int) {
        #expect(SealingKey(.random(byteCount: count)) == nil)
    }
}
