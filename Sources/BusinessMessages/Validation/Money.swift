internal import BalloonJSON

/// An amount of money in Apple Pay's format: digits, optionally with a minus sign and a decimal point.
struct Money {
    let isNegative: Bool
    let isPositive: Bool
    /// The number of digits after the decimal point.
    let decimals: Int
    /// The digits without the decimal point.
    private let digits: [UInt8]

    /// Parses an amount; `nil` when the text has another format.
    init?(_ text: String) {
        // Far longer than any amount; a longer text is not split.
        guard text.utf8.count <= 64 else { return nil }
        let unsigned = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        let parts = unsigned.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        digits = Array(parts.joined())
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }), digits.allSatisfy(\.isDigit)
        else { return nil }
        let isZero = digits.allSatisfy { $0 == UInt8(ascii: "0") }
        isNegative = !isZero && unsigned.count < text.utf8.count
        isPositive = !isZero && !isNegative
        decimals = parts.count == 2 ? parts[1].count : 0
    }

    /// The amount in the smallest unit of a currency with this number of decimals.
    ///
    /// `nil` when the amount has more decimals than the currency or does not fit an `Int`.
    func minorUnits(decimals places: Int) -> Int? {
        guard decimals <= places else { return nil }
        let zeros = repeatElement(UInt8(ascii: "0"), count: places - decimals)
        guard let units = Int(String(decoding: digits + zeros, as: UTF8.self)) else { return nil }
        return isNegative ? -units : units
    }
}
