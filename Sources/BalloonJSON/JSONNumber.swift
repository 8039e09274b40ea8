/// The exact integer of a valid JSON number; nil when it is not an integer or does not fit.
func exactInteger(_ text: ArraySlice<UInt8>) -> Int? {
    var digits = text[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits.removeFirst() }
    var exponent = 0
    if let mark = digits.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) {
        // An exponent that does not fit an Int moves any nonzero digit out of range.
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

/// The integer made of the digits before and after the decimal point, after `exponent` has moved the point to
/// the right.
///
/// Nil when a digit other than zero remains behind the point, or when the integer does not fit.
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

/// Returns `value` with one more decimal digit, which moves it away from zero; nil when the result does not
/// fit.
private func appending(_ digit: Int, to value: Int, _ isNegative: Bool) -> Int? {
    let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
    let (sum, sumOverflows) = product.addingReportingOverflow(isNegative ? -digit : digit)
    return productOverflows || sumOverflows ? nil : sum
}
