import Testing

@testable import BusinessMessages

struct TapbackTests {
    private static let tapbacks: [(String, Tapback)] = [
        ("Loved “Nice to meet you”", Tapback(.loved, to: .text("Nice to meet you"))),
        ("Liked “Nice to meet you”", Tapback(.liked, to: .text("Nice to meet you"))),
        ("Disliked “a”", Tapback(.disliked, to: .text("a"))),
        ("Laughed at “a”", Tapback(.laughed, to: .text("a"))),
        ("Emphasized “a”", Tapback(.emphasized, to: .text("a"))),
        ("Emphasised “a”", Tapback(.emphasized, to: .text("a"))),
        ("Questioned “a”", Tapback(.questioned, to: .text("a"))),
        ("Liked \"straight\"", Tapback(.liked, to: .text("straight"))),
        ("  Liked “a “b” c…”\n", Tapback(.liked, to: .text("a “b” c…"))),
        ("Liked “two\nlines”", Tapback(.liked, to: .text("two\nlines"))),
        ("Loved an image", Tapback(.loved, to: .attachment("an image"))),
        ("Laughed at a movie", Tapback(.laughed, to: .attachment("a movie"))),
        ("Questioned an audio message", Tapback(.questioned, to: .attachment("an audio message"))),
        ("Liked 3 images", Tapback(.liked, to: .attachment("3 images"))),
        ("Liked 1 Business Message", Tapback(.liked, to: .businessMessages(1))),
        ("Loved 12 Business Messages", Tapback(.loved, to: .businessMessages(12))),
        ("Reacted ☺️ to “a”", Tapback(.emoji("☺️"), to: .text("a"))),
        ("Reacted 👩🏽‍🚀 to 1 Business Message", Tapback(.emoji("👩🏽‍🚀"), to: .businessMessages(1))),
        ("Reacted 1️⃣ to “from here to there”", Tapback(.emoji("1️⃣"), to: .text("from here to there"))),
        ("Reacted with a sticker to “a”", Tapback(.sticker, to: .text("a"))),
        ("Reacted with a sticker to an image", Tapback(.sticker, to: .attachment("an image"))),
        ("Removed a heart from “a”", Tapback(.loved, isRemoved: true, to: .text("a"))),
        ("Removed a like from “a from b”", Tapback(.liked, isRemoved: true, to: .text("a from b"))),
        ("Removed a dislike from an image", Tapback(.disliked, isRemoved: true, to: .attachment("an image"))),
        ("Removed a laugh from “a”", Tapback(.laughed, isRemoved: true, to: .text("a"))),
        ("Removed an exclamation from “a”", Tapback(.emphasized, isRemoved: true, to: .text("a"))),
        ("Removed an exclamation mark from “a”", Tapback(.emphasized, isRemoved: true, to: .text("a"))),
        ("Removed a question mark from “a”", Tapback(.questioned, isRemoved: true, to: .text("a"))),
        ("Removed a 🔥 from “a”", Tapback(.emoji("🔥"), isRemoved: true, to: .text("a"))),
        ("Removed 🔥 from “a”", Tapback(.emoji("🔥"), isRemoved: true, to: .text("a"))),
        ("Removed a sticker from “a”", Tapback(.sticker, isRemoved: true, to: .text("a"))),
    ]

    private func tapback(in body: String) throws -> Tapback? {
        let escaped = body.replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        guard case .text(let text) = try event(json: #"{"type":"text","body":"\#(escaped)"}"#).content else {
            return nil
        }
        #expect(text.body == body)
        return text.tapback
    }

    @Test(arguments: tapbacks)
    func `a tapback is parsed from its English sentence`(body: String, expected: Tapback) throws {
        #expect(try tapback(in: body) == expected)
    }

    @Test(arguments: [
        "", "Liked", "Liked ", "Liked it", "Liked an idea", "Liked “unclosed", "I Liked “a”", "liked “a”",
        "Liked “a” a lot", "Liked ”", "Loved the image", "Liked -1 Business Messages", "Liked 0 images",
        "Reacted to “a”", "Reacted badly to “a”", "Reacted ab to “a”", "Reacted 1 to “a”", "Removed “a”",
        "Removed a scratch from “a”", "Removed from “a”", "Gefällt mir: „a“", "“a”",
        "Liked  Business Message",
        "Questioned everything", "Reacted ☺️", "Reacted ☺️ to", "Liked 99999999999999999999 images",
    ])
    func `a text without the form of a tapback's sentence is not a tapback`(body: String) throws {
        #expect(try tapback(in: body) == nil)
    }

    @Test func `a text that is longer than any tapback is none`() throws {
        let quoted = String(repeating: "a", count: Tapback.maximumProseBytes - "Liked “”".utf8.count)
        #expect(try tapback(in: "Liked “\(quoted)”") == Tapback(.liked, to: .text(quoted)))
        #expect(try tapback(in: "Liked “\(quoted)a”") == nil)
    }

    @Test func `the reaction of the tapback fixture is decoded as loved`() throws {
        guard case .text(let text) = try event("text-tapback").content else { throw Unexpected(.text) }
        #expect(text.tapback == Tapback(.loved, to: .text("Your bicycle is ready")))
    }
}
