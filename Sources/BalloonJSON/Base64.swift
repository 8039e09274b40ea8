/// Base64 in its two alphabets, with strict decoding (RFC 4648 §4 and §5).
package enum Base64 {
    /// An alphabet with its padding rule.
    package enum Alphabet: Sendable {
        /// `+` and `/`; padding is written and required.
        case standard

        /// `-` and `_`; padding is neither written nor accepted (RFC 7515 §2).
        case url
    }

    /// Encodes `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>, alphabet: Alphabet = .standard) -> String {
        bytes.withSpan { encode($0, alphabet: alphabet) }
    }

    /// Encodes the bytes of a span.
    package static func encode(_ bytes: Span<UInt8>, alphabet: Alphabet) -> String {
        let length = encodedLength(of: bytes.count, alphabet: alphabet)
        return unsafe String(unsafeUninitializedCapacity: length) { buffer in
            // Sound: exactly the first `length` bytes are written.
            var text = unsafe buffer.mutableSpan
            encode(bytes, alphabet: alphabet, into: &text)
            return length
        }
    }

    /// Decodes `text`; returns nil unless it is canonical Base64.
    ///
    /// Canonical text has no white space, its unused bits are zero, and its padding is as the alphabet
    /// requires.
    package static func decode(_ text: some Collection<UInt8>, alphabet: Alphabet = .standard) -> [UInt8]? {
        text.withSpan { decode($0, alphabet: alphabet) }
    }

    /// Decodes `text`; nil unless it is canonical Base64.
    package static func decode(_ text: String, alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(text.utf8, alphabet: alphabet)
    }

    /// Decodes the characters of a span; nil unless they are canonical Base64.
    package static func decode(_ text: Span<UInt8>, alphabet: Alphabet) -> [UInt8]? {
        var bytes: [UInt8] = []
        return decode(text, alphabet: alphabet, into: &bytes) ? bytes : nil
    }

    /// Replaces `bytes` with the decoded `text`, reusing their storage.
    ///
    /// Returns false when `text` is not canonical Base64; `bytes` is then empty.
    package static func decode(
        _ text: Span<UInt8>, alphabet: Alphabet, into bytes: inout [UInt8]
    ) -> Bool {
        bytes.removeAll(keepingCapacity: true)
        // One digit has six bits, too few for a byte, so a group of four may not have a single digit.
        guard let count = digitCount(of: text, alphabet: alphabet), count % 4 != 1 else { return false }
        bytes.append(contentsOf: repeatElement(0, count: count * 3 / 4))
        var output = bytes.mutableSpan
        let isCanonical = decode(text.extracting(first: count), values: alphabet.values, into: &output)
        if !isCanonical { bytes.removeAll(keepingCapacity: true) }
        return isCanonical
    }

    private static func encodedLength(of byteCount: Int, alphabet: Alphabet) -> Int {
        switch alphabet {
        case .standard: (byteCount + 2) / 3 * 4
        case .url: (byteCount * 4 + 2) / 3
        }
    }

    /// Writes the encoded `bytes` to the start of `text`, which must have room for them.
    package static func encode(_ bytes: Span<UInt8>, alphabet: Alphabet, into text: inout MutableSpan<UInt8>)
    {
        let table = alphabet.characters
        // Use a span: reading an element of an InlineArray directly copies the whole array.
        let characters = table.span
        var (read, written) = (0, 0)
        while bytes.count - read >= 3 {
            let group = Int(bytes[read]) << 16 | Int(bytes[read + 1]) << 8 | Int(bytes[read + 2])
            text[written] = characters[group >> 18]
            text[written + 1] = characters[group >> 12 & 63]
            text[written + 2] = characters[group >> 6 & 63]
            text[written + 3] = characters[group & 63]
            read += 3
            written += 4
        }
        guard read < bytes.count else { return }
        let isPair = bytes.count - read == 2
        let group = Int(bytes[read]) << 16 | (isPair ? Int(bytes[read + 1]) << 8 : 0)
        text[written] = characters[group >> 18]
        text[written + 1] = characters[group >> 12 & 63]
        if isPair { text[written + 2] = characters[group >> 6 & 63] }
        guard alphabet == .standard else { return }
        if !isPair { text[written + 2] = padding }
        text[written + 3] = padding
    }

    /// Returns the number of characters before the padding; nil when the padding breaks the alphabet's rule.
    private static func digitCount(of text: Span<UInt8>, alphabet: Alphabet) -> Int? {
        guard alphabet == .standard else { return text.count }
        guard text.count.isMultiple(of: 4) else { return nil }
        var count = text.count
        while count > 0, text.count - count < 2, text[count - 1] == padding { count -= 1 }
        return count
    }

    /// Decodes unpadded digits; returns false when a digit is not in the alphabet, or an unused bit is set.
    private static func decode(
        _ digits: Span<UInt8>, values table: InlineArray<256, UInt8>, into bytes: inout MutableSpan<UInt8>
    ) -> Bool {
        let values = table.span
        var (read, written) = (0, 0)
        var seen = 0
        while digits.count - read >= 4 {
            let (first, second) = (Int(values[Int(digits[read])]), Int(values[Int(digits[read + 1])]))
            let (third, fourth) = (Int(values[Int(digits[read + 2])]), Int(values[Int(digits[read + 3])]))
            seen |= first | second | third | fourth
            let group = first << 18 | second << 12 | third << 6 | fourth
            bytes[written] = UInt8(truncatingIfNeeded: group >> 16)
            bytes[written + 1] = UInt8(truncatingIfNeeded: group >> 8)
            bytes[written + 2] = UInt8(truncatingIfNeeded: group)
            read += 4
            written += 3
        }
        var group = 0
        for index in read..<digits.count {
            let value = Int(values[Int(digits[index])])
            seen |= value
            group = group << 6 | value
        }
        let digitsLeft = digits.count - read
        let spareBits = digitsLeft * 6 % 8
        if digitsLeft == 3 { bytes[written] = UInt8(truncatingIfNeeded: group >> 10) }
        if digitsLeft >= 2 { bytes[bytes.count - 1] = UInt8(truncatingIfNeeded: group >> spareBits) }
        // RFC 4648 §3.5: with nonzero unused bits, the same bytes would have several encodings.
        return seen < notADigit && group & (1 << spareBits - 1) == 0
    }
}

/// The table entry of a character outside the alphabet: larger than any six-bit value.
private let notADigit = 0x80

private let padding = UInt8(ascii: "=")

private let standardCharacters = characters(endingIn: "+", "/")
private let urlCharacters = characters(endingIn: "-", "_")
private let standardValues = values(of: standardCharacters)
private let urlValues = values(of: urlCharacters)

extension Base64.Alphabet {
    fileprivate var characters: InlineArray<64, UInt8> {
        switch self {
        case .standard: standardCharacters
        case .url: urlCharacters
        }
    }

    fileprivate var values: InlineArray<256, UInt8> {
        switch self {
        case .standard: standardValues
        case .url: urlValues
        }
    }
}

private func characters(endingIn character62: Unicode.Scalar, _ character63: Unicode.Scalar) -> InlineArray<
    64, UInt8
> {
    InlineArray { index in
        switch index {
        case 0..<26: UInt8(ascii: "A") + UInt8(index)
        case 26..<52: UInt8(ascii: "a") + UInt8(index - 26)
        case 52..<62: UInt8(ascii: "0") + UInt8(index - 52)
        case 62: UInt8(ascii: character62)
        default: UInt8(ascii: character63)
        }
    }
}

private func values(of characters: InlineArray<64, UInt8>) -> InlineArray<256, UInt8> {
    var values = InlineArray<256, UInt8>(repeating: UInt8(notADigit))
    for value in characters.indices { values[Int(characters[value])] = UInt8(value) }
    return values
}
