import BalloonTransport
import Testing

/// The field `Retry-After`.
struct RetryAfterTests {
    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("999999999", 999_999_999), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("+5", nil), ("-5", nil), ("5 ", nil), ("", nil),
            ("soon", nil),
            ("9999999999", nil), (nil, nil),
        ] as [(String?, Int?)])
    func `a wait is a number of seconds or a date`(_ field: String?, _ seconds: Int?) {
        let now = 784_111_740
        #expect(Duration(retryAfter: field, now: now) == seconds.map { .seconds($0) })
    }
}
