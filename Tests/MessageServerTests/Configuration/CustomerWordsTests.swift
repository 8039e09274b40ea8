import BalloonJSON
import BusinessMessages
import Testing

@testable import MessageServer

@Suite struct CustomerWordsTests {
    private static let words = CustomerWords(
        words: Localized(["agent", "help", "🆘"], ["de": ["Hilfe"], "de-at": ["Bitte sehr"]]),
        phrases: Localized(["a person"], ["zh": ["人工客服"], "de": ["mit einem Menschen"]]))

    @Test(
        arguments: [
            ("help", nil, true), (" Help\n", nil, true), ("AGENT", nil, true), ("Help!!", nil, true),
            ("🙏 agent 🙏", nil, true), ("“help”", nil, true), ("helped", nil, false), ("help me", nil, false),
            ("", nil, false), ("  ", nil, false), ("hel p", nil, false), ("?", nil, false), ("🆘", nil, true),
            ("hel,p", nil, false), ("ℹ️ help", nil, true), ("help 1️⃣", nil, true), ("🅰️ agent 🅱️", nil, true),
            ("\u{200F}help\u{200F}", nil, true), ("help 1", nil, false),
            ("hilfe", nil, false), ("Hilfe!", "de", true), ("hilfe", "de_CH", true), ("help", "de_CH", true),
            ("bitte  sehr", "de_AT", true), ("bitte sehr", "de", false), ("hilfe", "den", false),
            ("I want a person, now", "en", true), ("a personal matter", nil, false),
            ("via person", nil, false),
            ("Ich will mit einem Menschen reden", "de-DE", true), ("我要人工客服吗", "zh_CN", true),
            (String(repeating: "a", count: 1001) + " a person", nil, true),
            ("help", "x" + String(repeating: "-", count: 99), true),
        ] as [(String, String?, Bool)])
    func `a word is the whole text and a phrase any part of it, in the customer's language`(
        _ text: String, _ locale: String?, _ matches: Bool
    ) {
        #expect(Self.words.match(text, locale: locale) == matches)
    }

    @Test(arguments: [
        ("I want a person", true), ("Loved “Shall a person answer?”", false),
        ("Removed a heart from “Shall a person answer?”", false),
    ])
    func `a tapback asks for nobody, although it quotes a phrase`(_ body: String, _ matches: Bool) throws {
        let json = JSONWriter.object { writer in
            writer.field("type", "text")
            writer.field("body", body)
        }
        let event = InboundEvent.decode(message: try JSONDocument(json))
        #expect(Self.words.match(event) == matches)
    }

    @Test(arguments: [
        ("a person", 0, 9000, true), ("a person", 900, 0, true), ("a person", 9000, 0, true),
        ("a person", 5000, 5000, false), ("help", 0, 0, true),
        // Longer than any word, although only signs follow.
        ("help", 0, 1000, false),
    ])
    func `a phrase counts at the beginning and at the end of a long text`(
        _ text: String, _ before: Int, _ after: Int, _ matches: Bool
    ) throws {
        let filler = text == "help" ? "!" : "é "
        let body = [before, after].map { String(repeating: filler, count: $0 / filler.utf8.count) }
        let json = JSONWriter.object { $0.fields(["type": "text", "body": body[0] + text + " " + body[1]]) }
        #expect(Self.words.match(InboundEvent.decode(message: try JSONDocument(json))) == matches)
    }

    @Test(arguments: [
        ("menu", true), ("List.", true), ("?", true), (" ? ", true), ("??", false), ("list of fish", false),
    ])
    func `the words for the menu are whole texts`(_ text: String, _ matches: Bool) {
        #expect(CustomerWords.menu.match(text, locale: nil) == matches)
    }

    @Test(arguments: [
        ("de", true), ("pt_BR", true), ("zh-Hans-CN", true), ("", false), ("d", false), ("german", false),
        ("de-", false), ("d1!", false), ("de-äh", false),
        ("de" + String(repeating: "-abcdefgh", count: 4), false),
    ])
    func `a key of texts is a language`(_ name: String, _ isLanguage: Bool) {
        #expect(Language.isName(name) == isLanguage)
    }
}
