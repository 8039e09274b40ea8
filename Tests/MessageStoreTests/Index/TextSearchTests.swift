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

    @Test(.timeLimit(.minutes(1))) func `a member with a long name is searched in time`() throws {
        let name = String(repeating: "\u{301}\u{323}", count: 400_000)
        #expect(try TextSearch("hello").match(line(#"x","n\#(name)":"y","z":"hello"#)) != nil)
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
    ) throws {
        #expect((try TextSearch(wanted).match(line(body)) != nil) == isFound)
    }

    @Test(arguments: [4090, 4096, 4100, 4900, 8190, 12_288])
    func `text is found at every place of a long string`(offset: Int) throws {
        let body = String(repeating: "п", count: offset) + "Straße 中文" + String(repeating: "м", count: 9000)
        #expect(try TextSearch("straßE 中").match(line(body)) != nil)
        #expect(try TextSearch("straßE 文").match(line(body)) == nil)
    }

    @Test func `a search ends inside a line when its time is used up`() throws {
        // No part of the text has bytes by which the line can be skipped.
        let text = line(String(repeating: "п", count: 1 << 20))
        var looks = 0
        #expect(throws: TextSearch.Interrupted.self) {
            try TextSearch("пм").match(
                text,
                isLate: {
                    looks += 1
                    return looks == 3
                })
        }
        #expect(looks == 3)
        looks = 0
        #expect(
            try TextSearch("пм").match(
                text,
                isLate: {
                    looks += 1
                    return false
                }) == nil)
        // Each look comes after a part of the line that takes a few milliseconds at most.
        #expect(looks > 200)
    }

    @Test func `the search for bytes takes linear time`() throws {
        let text = line(String(repeating: "a", count: 1 << 20))
        let wanted = String(repeating: "a", count: 199) + "b"
        var found: ConversationLine?
        let duration = try ContinuousClock().measure { found = try TextSearch(wanted).match(text) }
        #expect(found == nil)
        // The naive search makes 200 million comparisons, 20 s and more in a debug build.
        #expect(duration < .seconds(5))
    }
}
