/// Splits a field line: the end of its name, and its value without surrounding white space (RFC 9112 §5).
@inline(__always)
func fieldLine(
    _ bytes: [UInt8], _ start: Int, _ end: Int
) throws(HTTPRefusal) -> (nameEnd: Int, value: Range<Int>) {
    var nameEnd = start
    while nameEnd < end, CharacterClass.token.contains(bytes[nameEnd]) { nameEnd += 1 }
    // The name must be a token: white space before it is a folded line, and white space after it would be
    // trimmed by some parsers (RFC 9112 §5.1).
    guard nameEnd > start, nameEnd < end, bytes[nameEnd] == 0x3A else { throw .malformedField }
    let value = trimmed(bytes, (nameEnd + 1)..<end)
    var index = value.lowerBound
    while index < value.upperBound {
        let byte = bytes[index]
        if byte < 0x20 ? byte != 0x09 : byte == 0x7F {
            throw byte == 0x0D ? .malformedLineEnd : .malformedField
        }
        index += 1
    }
    return (nameEnd, value)
}

/// Returns the part of `range` without spaces and tabs at its ends.
@inline(__always)
func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return start..<end
}

/// Whether `bytes[range]` equals `name`, ignoring the case of letters; `name` is lower case.
func isName(_ bytes: [UInt8], _ range: Range<Int>, _ name: String) -> Bool {
    let name = name.utf8
    guard range.count == name.count else { return false }
    var index = range.lowerBound
    for byte in name {
        if lowercase(bytes[index]) != byte { return false }
        index += 1
    }
    return true
}

@inline(__always)
func lineFeed(in bytes: [UInt8], from start: Int, to end: Int) -> Int? {
    var index = start
    while index < end {
        if bytes[index] == 0x0A { return index }
        index += 1
    }
    return nil
}
