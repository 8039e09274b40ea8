import Testing

@testable import BalloonJSON

@Suite struct StringCuttingTests {
    @Test(arguments: [
        ("", 0, ""), ("abc", 3, "abc"), ("abc", 2, "ab"), ("abc", 0, ""), ("aé", 2, "a"), ("aé", 3, "aé"),
        ("🎉🎉", 7, "🎉"), ("🎉", 3, ""), ("e\u{301}\u{301}", 3, "e\u{301}"), ("abc", -1, ""),
    ])
    func `a text is cut between two Unicode scalars`(text: String, maximum: Int, cut: String) {
        #expect(Array(text.cut(toBytes: maximum).unicodeScalars) == Array(cut.unicodeScalars))
    }

    @Test func `a shortened text ends with an ellipsis`() {
        #expect("abc".shortened(toBytes: 3) == "abc")
        #expect("abc".shortened(toBytes: 2) == "ab…")
    }
}
