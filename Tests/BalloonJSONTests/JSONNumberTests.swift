import BalloonJSON
import Testing

/// The values of numbers.
struct JSONNumberTests {
    @Test(arguments: [
        ("0", 0), ("-0", 0), ("1", 1), ("-17", -17), ("9223372036854775807", .max),
        ("-9223372036854775808", .min),
        ("1.0", 1), ("-2.000", -2), ("10e-1", 1), ("1e3", 1000), ("1.5e1", 15), ("1.25E+2", 125), ("0.0", 0),
        ("0e99999999999999999999", 0), ("0.0e-99999999999999999999", 0), ("0e-5", 0), ("-0.0e5", 0),
        ("120e-1", 12), ("0.001e3", 1), ("922337203685477580.7e1", .max), ("9223372036854775807.000", .max),
        ("1000000000000000000000e-18", 1000), ("9007199254740993", 9_007_199_254_740_993),
    ])
    func `whole numbers are integers in every spelling`(text: String, value: Int) throws {
        #expect(try parse(text).root.int == value)
    }

    @Test(arguments: [
        "1.5", "0.1", "1e-1", "9223372036854775808", "-9223372036854775809", "1e19", "1e30", "1e400",
        "-1e400",
        "0.99999999999999999999", "1e99999999999999999999", "1e-99999999999999999999", "15e-1", "0.0001e3",
        "9223372036854775807.5", "922337203685477580.8e1", "10000000000000000000000e-2",
    ])
    func `fractions and numbers beyond 64 bits are not integers`(text: String) throws {
        #expect(try parse(text).root.int == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0.0", 0), ("1", 1), ("1.5", 1.5), ("-2.5e-3", -0.0025), ("1E5", 100_000),
            ("1.7976931348623157e308", .greatestFiniteMagnitude), ("5e-324", .leastNonzeroMagnitude),
            ("1e-400", 0), ("0.1", 0.1),
            ("123456789012345678901234567890", 123_456_789_012_345_677_877_719_597_056),
            ("0.00000000000000000000000000000000000000001", 1e-41),
        ] as [(String, Double)])
    func `numbers are read as the nearest double`(text: String, value: Double) throws {
        #expect(try parse(text).root.double == value)
    }

    @Test(arguments: ["1e309", "-1e309", "1e99999999999999999999"])
    func `a number beyond the largest double has no double value`(text: String) throws {
        #expect(try parse(text).root.double == nil)
    }
}
