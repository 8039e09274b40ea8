import BalloonJSON
import Testing

@testable import MessageStore

/// The search for text in a line of a conversation.
struct TextSearchTests {
    private func line(_ body: String) -> [UInt8] {
        Array(
            (#"{"seq":1,"at":"2026-11-22T20:00:00.000Z","direction":"inbound","id":"m-1","kind":"text","#
                + #""customer":"urn:mbid:c","record":1,"message":{"body":"\#(body)"}}"#).utf8)
    }

    @Test(arguments: [
        ("Hello World", "WORLD", true), ("Hello World", "worlds", false), ("Äpfel", "äPFEL", true),
        ("Привет", "привет", true), ("中文消息", "文消", true), ("中文消息", "消文", false),
        ("A 中文 text", "a 中文", true), (#"caf\u00e9"#, "café", true), (#"\u4e2d\u6587"#, "中文", true),
        (#"a \"quoted\" word"#, #""quoted""#, true), ("a/b", "a/b", true), ("m", "m-1", false),
        ("aaaaaaaaaaaaaaaaaaab", "aab", true),
    ])
    func `text is found regardless of case and spelling in JSON`(
        body: String, wanted: String, isFound: Bool
    ) {
        #expect((TextSearch(wanted).match(line(body)) != nil) == isFound)
    }

    @Test func `the search for bytes takes linear time`() {
        let text = line(String(repeating: "a", count: 1 << 20))
        let wanted = String(repeating: "a", count: 199) + "b"
        let duration = ContinuousClock().measure { #expect(TextSearch(wanted).match(text) == nil) }
        // The naive search makes 200 million comparisons, 20 s and more in a debug build.
        #expect(duration < .seconds(5))
    }
}
