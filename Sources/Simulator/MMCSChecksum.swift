import BalloonJSON
import BalloonWire

/// The 21-byte checksum by which Apple's file store identifies an encrypted file.
///
/// It is the byte `0x81`, followed by the SHA-1 of a salt and the file. iMessage clients use this checksum;
/// it is an assumption that business messages use it too. The server must not rely on it for security.
struct MMCSChecksum: Sendable, Equatable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(of file: [UInt8]) {
        bytes = [0x81] + sha1(Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8) + file)
    }

    /// The field `signature`.
    var hex: String { Hex.encode(bytes) }
    /// The field `signature-base64`, and the header `MMCS-Signature`.
    var base64: String { Base64.encode(bytes) }
}

/// SHA-1 (FIPS 180-4 §6.1); implemented here and not in BalloonWire, because the server must not rely on SHA-1
/// for security.
private func sha1(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var words = [UInt32](repeating: 0, count: 80)
    let padded = pad(message)
    for block in stride(from: 0, to: padded.count, by: 64) {
        for index in 0..<16 {
            words[index] = padded[(block + 4 * index)..<(block + 4 * index + 4)].reduce(0) {
                $0 << 8 | UInt32($1)
            }
        }
        for index in 16..<80 {
            words[index] = rotate(
                words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
        }
        digest(words, into: &state)
    }
    return state.flatMap(bigEndianBytes)
}

private func digest(_ words: [UInt32], into state: inout [UInt32]) {
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for index in 0..<80 {
        let (mixed, constant): (UInt32, UInt32) =
            switch index {
            case ..<20: (b & c | ~b & d, 0x5A82_7999)
            case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
            case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
            default: (b ^ c ^ d, 0xCA62_C1D6)
            }
        let next = rotate(a, 5) &+ mixed &+ e &+ constant &+ words[index]
        (e, d, c, b, a) = (d, c, rotate(b, 30), a, next)
    }
    for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
}

/// Completes the last block with a one bit, zeros, and the length in bits (FIPS 180-4 §5.1.1).
private func pad(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    padded.append(contentsOf: repeatElement(0, count: (120 - padded.count % 64) % 64))
    let bits = UInt64(message.count) * 8
    return padded + bigEndianBytes(UInt32(truncatingIfNeeded: bits >> 32))
        + bigEndianBytes(UInt32(truncatingIfNeeded: bits))
}

private func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }

private func bigEndianBytes(_ word: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
}
