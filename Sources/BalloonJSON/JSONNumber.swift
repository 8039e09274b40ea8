/// Returns the exact integer of a valid JSON number; nil when it has a fraction or does not fit an `Int`.
func exactInteger(_ text: ArraySlice<UInt8>) -> Int? {
    var digits = text[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits.removeFirst() }
    var exponent = 0
    if let mark = digits.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
        // With an exponent that does not fit an Int, any nonzero number is too large or has a fraction.
        guard let written = Int(String(decoding: digits[(mark + 1)...], as: UTF8.self)) else {
            return digits[..<mark].contains { $0 > UInt8(ascii: "0") } ? nil : 0
        }
        exponent = written
        digits = digits[..<mark]
    }
    guard let point = digits.firstIndex(of: UInt8(ascii: ".")) else {
        return accumulate(digits, [], exponent, isNegative)
    }
    return accumulate(digits[..<point], digits[(point + 1)...], exponent, isNegative)
}

/// Returns the integer with the given digits, after moving the decimal point to the right by `exponent`.
///
/// Returns nil when a nonzero digit remains after the point, or when the integer does not fit an `Int`.
private func accumulate(
    _ whole: ArraySlice<UInt8>, _ fraction: ArraySlice<UInt8>, _ exponent: Int, _ isNegative: Bool
) -> Int? {
    let (beforePoint, isTooLarge) = whole.count.addingReportingOverflow(exponent)
    var value = 0
    var place = 0
    for digit in [whole, fraction].joined() {
        let number = Int(digit - UInt8(ascii: "0"))
        if isTooLarge || place >= beforePoint {
            if number != 0 { return nil }
        } else {
            guard let longer = appending(number, to: value, isNegative) else { return nil }
            value = longer
        }
        place += 1
    }
    guard value != 0 else { return 0 }
    while place < beforePoint {
        guard let longer = appending(0, to: value, isNegative) else { return nil }
        value = longer
        place += 1
    }
    return value
}

/// Returns `value` with one more decimal digit; nil when the result does not fit an `Int`.
///
/// The digit of a negative number is subtracted.
private func appending(_ digit: Int, to value: Int, _ isNegative: Bool) -> Int? {
    let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
    let (sum, sumOverflows) = product.addingReportingOverflow(isNegative ? -digit : digit)
    return productOverflows || sumOverflows ? nil : sum
}
