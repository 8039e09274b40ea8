import TestSupport
import Testing

@testable import BusinessMessages

struct ValidationPartsTests {
    @Test(arguments: [
        ("MM/dd/yyyy", "02/29/2024", CalendarDate(year: 2024, month: 2, day: 29)),
        ("MM/dd/yyyy", "2/29/2024", nil), ("MM/dd/yyyy", "02/30/2024", nil),
        ("MM/dd/yyyy", "02/29/2023", nil),
        ("MM/dd/yyyy", "02/29/2024 ", nil),
        ("d.M.y", "1.12.2026", CalendarDate(year: 2026, month: 12, day: 1)),
        ("yyMMdd", "260710", CalendarDate(year: 2026, month: 7, day: 10)), ("dd/MM/yyyy", "12/13/2026", nil),
        ("d 'of' M y", "1 of 2 2026", CalendarDate(year: 2026, month: 2, day: 1)),
        ("d''M''y", "1'2'2026", CalendarDate(year: 2026, month: 2, day: 1)), ("yyyy-MM-dd", "", nil),
        ("MM/dd/yyyy", "٠٢/٢٩/٢٠٢٤", nil),
    ])
    func `a date is parsed by its pattern`(pattern: String, text: String, expected: CalendarDate?) throws {
        #expect(try #require(DatePattern(pattern)).date(in: text) == expected)
    }

    @Test(arguments: [
        "", "yyyy", "MMM d, yyyy", "EEEE", "dd/dd/yyyy/MM", "yyyyy-MM-dd", "'MM/dd/yyyy", "HH:mm",
    ])
    func `a date pattern that depends on the language or lacks a part is refused`(pattern: String) {
        #expect(DatePattern(pattern) == nil)
    }

    @Test(arguments: [
        ("0", false, false, 0), ("0.00", false, false, 2), ("-0", false, false, 0), ("59.00", true, false, 2),
        ("-4.5", false, true, 1), ("007", true, false, 0),
    ])
    func `an amount of money is parsed with its sign and its decimals`(
        text: String, isPositive: Bool, isNegative: Bool, decimals: Int
    ) throws {
        let money = try #require(Money(text))
        #expect(money.isPositive == isPositive)
        #expect(money.isNegative == isNegative)
        #expect(money.decimals == decimals)
    }

    @Test(arguments: ["", "-", ".5", "5.", "1.2.3", "1,000.00", "+5", " 5", "5e2", "$5", "--5", "٥"])
    func `a text that is not an amount of money is refused`(text: String) {
        #expect(Money(text) == nil)
    }

    @Test func `each currency has the decimals of ISO 4217, and former currencies are unknown`() {
        #expect(ISO.decimals(ofCurrency: "USD") == 2)
        #expect(ISO.decimals(ofCurrency: "JPY") == 0)
        #expect(ISO.decimals(ofCurrency: "KWD") == 3)
        #expect(ISO.decimals(ofCurrency: "DEM") == nil)
        #expect(ISO.decimals(ofCurrency: "usd") == nil)
        #expect(ISO.countries.count == 249)
        #expect(ISO.countries.isSuperset(of: ["US", "DE", "CN", "SS"]))
        #expect(ISO.countries.isDisjoint(with: ["UK", "EU", "XK", "us"]))
    }

    @Test func `the size of a PNG is read from its header`() {
        #expect(ImageSize(header: image("789x450")) == ImageSize(width: 789, height: 450))
        #expect(ImageSize(header: Array(image("789x450").prefix(23))) == nil)
    }

    @Test func `the size of a JPEG is read from its frame header, after other segments`() {
        let jpeg: [UInt8] = [
            0xFF, 0xD8, 0xFF, 0xE1, 0, 4, 0xFF, 0xC0, 0xFF, 0xFF, 0xC4, 0, 3, 9, 0xFF, 0xC2, 0, 11, 8, 1,
            0xC2,
            3, 0x15,
        ]
        #expect(ImageSize(header: jpeg) == ImageSize(width: 789, height: 450))
        for length in 0..<jpeg.count { #expect(ImageSize(header: Array(jpeg.prefix(length))) == nil) }
    }

    @Test func `the resolution of a PNG is read from the chunk before its pixels`() {
        let start = Array(image("789x450").prefix(33))
        let physical: [UInt8] = [0, 0, 0, 9, 0x70, 0x48, 0x59, 0x73, 0, 0, 0x21, 0x38, 0, 0, 0x21, 0x38, 1]
        #expect(imageResolution(of: start + physical).map { Int($0.rounded()) } == 216)
        #expect(imageResolution(of: start + physical.dropLast() + [0]) == nil)
        for length in 0..<(start + physical).count {
            #expect(imageResolution(of: Array((start + physical).prefix(length))) == nil)
        }
        #expect(imageResolution(of: start + [0xFF, 0xFF, 0xFF, 0xFF] + physical.dropFirst(4)) != nil)
        #expect(imageResolution(of: image("789x450")) == nil)
    }

    @Test(arguments: [(UInt8(0), nil as Int?), (1, 144), (2, 366), (3, nil)])
    func `the resolution of a JPEG is read from its first segment`(unit: UInt8, expected: Int?) {
        let jpeg: [UInt8] = [
            0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 1, 2, unit, 0, 144, 0, 144,
        ]
        #expect(imageResolution(of: jpeg).map { Int($0.rounded()) } == expected)
        for length in 0..<jpeg.count { #expect(imageResolution(of: Array(jpeg.prefix(length))) == nil) }
    }

    @Test(arguments: [
        ("https://a", true), ("HTTPS://a/b?c#d", true), ("https://", false), ("https:///a", false),
        ("https://a b", false), ("https://ä", false), ("a", false), ("ftp://a", false), ("https://?a", false),
        ("https://:443/", false), ("https://a:443/", true), ("https://a:", true), ("https://a:b", false),
        ("https://u:p@a:1/", true), ("https://u:p@:1/", false), ("https://u@", false),
        ("https://[::1]:443/", true), ("https://[::1]", true), ("https://[::1]a", false),
    ])
    func `a web address has a scheme and a host`(text: String, expected: Bool) {
        #expect(text.isWebAddress(schemes: ["https"]) == expected)
    }
}
