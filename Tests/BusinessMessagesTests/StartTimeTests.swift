import BusinessMessages
import Testing

struct StartTimeTests {
    private func start(_ text: String) throws -> Int? {
        let data = #"{"event":{"timeslots":[{"startTime":"\#(text)"}]}}"#
        guard case .timePicker(let picker) = try content(data: data) else { throw Unexpected(.timePicker) }
        return picker.selectedTimeslot?.startSeconds
    }

    @Test(arguments: [
        ("1970-01-01T00:00+0000", 0),
        ("2026-07-10T17:00+0000", 1_783_702_800),
        ("2026-07-10T17:00:00Z", 1_783_702_800),
        ("2026-07-10T17:00Z", 1_783_702_800),
        ("2026-07-10t17:00:00z", 1_783_702_800),
        ("2026-07-10 17:00:00", 1_783_702_800),
        ("2026-07-10T17:00:00.999+00:00", 1_783_702_800),
        ("2026-07-10T19:00+0200", 1_783_702_800),
        ("2026-07-10T19:00+02", 1_783_702_800),
        ("2026-07-10T13:30-03:30", 1_783_702_800),
        ("2017-05-26T08:27:55+00:00", 1_495_787_275),
        ("2024-02-29T12:00+0000", 1_709_208_000),
        ("2000-02-29T00:00Z", 951_782_400),
        ("1969-12-31T23:59:59Z", -1),
        ("2016-12-31T23:59:60Z", 1_483_228_800),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
    ])
    func `a start time is parsed with or without seconds and with or without a colon in its offset`(
        text: String, expected: Int
    ) throws {
        #expect(try start(text) == expected)
    }

    @Test(arguments: [
        "", "soon", "2026-07-10", "2026-07-10T17", "2026-07-10T17:00+", "2026-07-10T17:00+0",
        "2026-07-10T17:00+000",
        "2026-07-10T17:00+00000", "2026-07-10T17:00+00:0", "2026-07-10T17:00+2400", "2026-07-10T17:00+0060",
        "2026-02-29T12:00+0000", "1900-02-29T12:00+0000", "2026-04-31T12:00Z", "2026-13-01T12:00Z",
        "2026-00-01T12:00Z", "2026-01-00T12:00Z", "2026-07-10T24:00Z", "2026-07-10T17:60Z",
        "2026-07-10T17:00:61Z",
        "2026-07-10T17:00:00.Z", "2026-07-10T17:00 Z", "26-07-10T17:00Z", "2026-7-10T17:00Z",
        "2026-07-10T17:00ZZ",
        "+026-07-10T17:00Z", "2026-07-10T17:00:Z", "२०२६-07-10T17:00Z",
    ])
    func `a text that is not a date is parsed to nil`(text: String) throws {
        #expect(try start(text) == nil)
    }
}
