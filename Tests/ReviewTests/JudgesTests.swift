import BalloonJSON
import BusinessMessages
import Testing

@testable import Review

@Suite struct JudgesTests {
    /// A fault, and the check that must name it.
    struct Fault: Sendable, CustomTestStringConvertible {
        let check: Int
        let verdict: Finding.Verdict
        let words: String
        var play = Play.greeting
        var name = "scene"
        var locale = "en_US"
        let story: [String]
        var testDescription: String { "C\(check): \(words)" }
    }

    private static let menu = JudgedScene.quickReply("Order", "Talk to a person")
    private static let waits = "= A colleague answers in a few minutes. #waiting"

    static let faults: [Fault] = [
        Fault(
            check: 3, verdict: .objection, words: "after 6.1 s", story: ["> Hi", "< Hello, I am a bot. @6"]),
        Fault(check: 3, verdict: .advice, words: "no reserve", story: ["> Hi", "< Hello, I am a bot. @4"]),
        Fault(check: 3, verdict: .objection, words: "was not answered", story: ["> Hi"]),
        Fault(
            check: 4, verdict: .objection, words: "does not say that it is automated",
            story: ["> Hi", "< What can we do?"]),
        Fault(
            check: 4, verdict: .objection, words: "de_DE does not say", locale: "de_DE",
            story: ["> Hallo", "< Guten Tag"]),
        Fault(
            check: 4, verdict: .look, words: "knows no words of ja_JP", locale: "ja_JP",
            story: ["> Hi", "< Hello"]),
        Fault(
            check: 4, verdict: .objection, words: "i'm a human", story: ["> Hi", "< I'm a human and no bot."]),
        Fault(check: 5, verdict: .advice, words: "without a menu", story: ["> Hi", "< I am a bot."]),
        Fault(
            check: 5, verdict: .advice, words: "offers no person",
            story: ["> Hi", "< " + JudgedScene.quickReply("Order", "Returns")]),
        Fault(
            check: 6, verdict: .advice, words: "1 of 1 automatic messages", story: ["> Hi", "< I am a bot."]),
        Fault(
            check: 6, verdict: .advice, words: "1 of 2 automatic messages",
            story: ["> Hi", "< typing", "< One. @1", "< Two."]),
        Fault(
            check: 7, verdict: .objection, words: "601 characters",
            story: ["> Hi", "< " + String(repeating: "x", count: 601)]),
        Fault(
            check: 7, verdict: .objection, words: "data rates",
            story: ["> Hi", "< Message and data rates may apply."]),
        Fault(
            check: 7, verdict: .objection, words: "second time",
            story: [
                "> Hi", "< " + JudgedScene.link("https://a.example", title: "Terms"), "> Hi",
                "< " + JudgedScene.link("https://a.example", title: "Terms"),
            ]),
        Fault(
            check: 8, verdict: .objection, words: "https://shop.example/a",
            story: ["> Hi", "< Look: https://shop.example/a."]),
        Fault(
            check: 8, verdict: .objection, words: "www.shop.example",
            story: ["> Hi", "< Look at www.shop.example!"]),
        Fault(check: 8, verdict: .objection, words: "bit.ly/x", story: ["> Hi", "< (bit.ly/x)"]),
        Fault(check: 8, verdict: .objection, words: "Own.Host", story: ["> Hi", "< See Own.Host"]),
        Fault(
            check: 8, verdict: .advice, words: "has no picture",
            story: [
                "> Hi", "< " + JudgedScene.link("https://a.example/x", title: "Your order", image: false),
            ]),
        Fault(
            check: 8, verdict: .objection, words: "does not begin with https",
            story: ["> Hi", "< " + JudgedScene.link("http://a.example/x", title: "Your order")]),
        Fault(
            check: 8, verdict: .advice, words: "name what the page has",
            story: ["> Hi", "< " + JudgedScene.link("https://a.example/x", title: "Sam's Fish")]),
        Fault(
            check: 9, verdict: .objection, words: "bot continues", play: .words,
            story: ["> Hi", "< Hello", "> help", "< Cod or sole?"]),
        Fault(
            check: 9, verdict: .objection, words: "reads nothing", play: .words,
            story: ["> Hi", "< Hello", "> agent #waiting"]),
        Fault(
            check: 9, verdict: .objection, words: "came after", play: .words,
            story: ["> Hi", "< Hello", "> support", waits.replacing(" #", with: " @6 #")]),
        Fault(
            check: 9, verdict: .objection, words: "the bot writes", play: .words,
            story: ["> Hi", "< Hello", "> help", waits, "< Cod or sole?"]),
        Fault(
            check: 10, verdict: .objection, words: "HELP", play: .words,
            story: ["> Hi", "< Hello", "> HELP", "< Cod or sole?"]),
        Fault(
            check: 10, verdict: .advice, words: "I need help", play: .words,
            story: ["> Hi", "< Hello", "> I need help", "< Cod or sole?"]),
        Fault(
            check: 10, verdict: .objection, words: "de_DE", play: .words, locale: "de_DE",
            story: ["> Hallo", "< Hallo", "> Hilfe", "< Kabeljau?"]),
        Fault(
            check: 10, verdict: .objection, words: "shows no menu", play: .words,
            story: ["> Hi", "< Hello", "> menu", "< What?"]),
        Fault(
            check: 11, verdict: .objection, words: "bot continues", play: .stuck, name: "a form",
            story: ["> Hi", "< " + menu, "> help", "< " + menu]),
        Fault(
            check: 12, verdict: .objection, words: "no person offered", play: .offScript,
            story: ["> Hi", "< Hello", "> qq", "< What?", "> qq", "< What?", "> qq", "< What?"]),
        Fault(
            check: 12, verdict: .objection, words: "is not answered", play: .offScript,
            story: ["> Hi", "< Hello", "> qq", "> qq"]),
        Fault(
            check: 13, verdict: .objection, words: "not announced", play: .handOff,
            story: ["> Hi", "< Hello", "> help #waiting"]),
        Fault(
            check: 13, verdict: .advice, words: "no waiting time", play: .handOff,
            story: ["> Hi", "< Hello", "> help", "= A colleague answers. #waiting"]),
        Fault(
            check: 14, verdict: .objection, words: "promises \"minutes\"", play: .closed,
            story: ["> Hi", "< Hello", "> help", waits]),
        Fault(
            check: 14, verdict: .objection, words: "does not say when", play: .closed,
            story: ["> Hi", "< Hello", "> help", "= We are closed. #waiting"]),
        Fault(check: 15, verdict: .objection, words: "not answered", play: .closed, story: ["> Hi"]),
        Fault(
            check: 16, verdict: .objection, words: "has no name", play: .person,
            story: ["> help", waits, "- Ana writes", "& Hello, how can I help? #person"]),
        Fault(
            check: 17, verdict: .objection, words: "order number", play: .memory,
            story: ["> Hi", "< Hello", "> It is 48213", "< What is your order number?"]),
        Fault(
            check: 18, verdict: .advice, words: "has no picture",
            story: [
                "> Hi",
                "< "
                    + JudgedScene.interactive(
                        "\"listPicker\":{\"sections\":[]},\"receivedMessage\":{\"title\":\"Choose\"}"),
            ]),
        Fault(
            check: 18, verdict: .advice, words: "small screens",
            story: ["> Hi", "< " + JudgedScene.quickReply(String(repeating: "w", count: 31), "b")]),
        Fault(
            check: 18, verdict: .advice, words: "placeholder",
            story: ["> Hi", "< " + JudgedScene.quickReply("Order {name}", "b")]),
        Fault(
            check: 19, verdict: .objection, words: "does not get an answer", play: .devices,
            story: ["> Hi", "! form: FORM is missing"]),
        Fault(check: 19, verdict: .objection, words: "gets no answer", play: .devices, story: ["> Hi"]),
        Fault(
            check: 20, verdict: .advice, words: "first greeting again", play: .returning,
            story: ["> Hi", "< Hello", "- closes #closed", "> Hi", "< Hello"]),
        Fault(
            check: 21, verdict: .objection, words: "reads nothing", play: .faults,
            story: ["* the handler ends", "> Hi"]),
        Fault(
            check: 21, verdict: .objection, words: "traceback", play: .faults,
            story: ["* the handler ends", "> Hi", "< Traceback: line 3"]),
        Fault(
            check: 22, verdict: .objection, words: "silence", play: .files,
            story: ["> Hi", "< Hello", "> [photo.png]"]),
        Fault(check: 23, verdict: .objection, words: "email", story: ["> Hi", "< What is your email?"]),
        Fault(
            check: 23, verdict: .objection, words: "password",
            story: ["> Hi", "< Please write your password."]),
        Fault(
            check: 24, verdict: .objection, words: "in the language en", play: .languages, locale: "de_DE",
            story: ["> Hallo", "< What can we do for you?"]),
        Fault(
            check: 24, verdict: .objection, words: "helfen", play: .languages, locale: "de_DE",
            story: ["> Hallo", "< Guten Tag"]),
        Fault(
            check: 25, verdict: .objection, words: "leads nowhere", play: .buttons,
            name: "the button \"Returns\"", story: ["> Hi", "< " + menu, "> Returns"]),
        Fault(
            check: 25, verdict: .objection, words: "did not appear: listPicker", play: .useCases,
            name: "use case: Order", story: ["> order", "< No."]),
        Fault(check: 26, verdict: .look, words: "Markup", story: ["> Hi", "< **Order** here"]),
        Fault(check: 26, verdict: .look, words: "placeholder", story: ["> Hi", "< Hello {name}"]),
        Fault(check: 26, verdict: .look, words: "Capitals", story: ["> Hi", "< WELCOME TO THE SHOP"]),
        Fault(
            check: 27, verdict: .objection, words: "imessage", story: ["> Hi", "< Write to us by iMessage."]),
        Fault(
            check: 27, verdict: .objection, words: "Sam's Fish", story: ["> Hi", "< Welcome to sam's fish."]),
        Fault(
            check: 28, verdict: .objection, words: "after the customer deleted", play: .deletion,
            story: [
                "> Hi", "< Hello", "> [deletes] #closed", "- a notice", "< News. #closed", "> Hi", "< Hello",
            ]),
        Fault(
            check: 29, verdict: .objection, words: "2 messages", play: .silence,
            story: ["> Hi", "< Hello", "* silence", "< Are you there?", "< Hello?"]),
        Fault(
            check: 30, verdict: .advice, words: "2 times",
            story: ["> Hi", "< Please rate us.", "> Hi", "< Please rate us."]),
        Fault(
            check: 30, verdict: .advice, words: "without a closing sentence", play: .ending,
            story: ["> help", waits, "- Ana writes", "& Hello, I'm Ana. #person", "- closes #closed"]),
        Fault(
            check: 31, verdict: .objection, words: "Unsubscribe", play: .notices,
            story: ["> Hi", "< Hello", "- a notice", "= Your bread is ready."]),
        Fault(
            check: 32, verdict: .objection, words: "stop", play: .consent,
            story: ["> Hi", "< Hello", "> stop", "< Cod or sole?"]),
        Fault(
            check: 32, verdict: .objection, words: "not answered", play: .consent,
            story: ["> Hi", "< Hello", "> spam"]),
        Fault(
            check: 33, verdict: .look, words: "advertising",
            story: ["> Hi", "< 20 % off, our best discount."]),
        Fault(
            check: 34, verdict: .objection, words: "silence", play: .signIn,
            story: ["> sign in", "< " + JudgedScene.interactive("\"authenticate\":{}"), "> [cancel]"]),
        Fault(
            check: 35, verdict: .objection, words: "silence", play: .payment,
            story: ["> pay", "< " + JudgedScene.interactive("\"payment\":{}"), "> [failure]"]),
    ]

    static var brief: Brief {
        var brief = Brief()
        brief.useCases = [Brief.UseCase(name: "Order", words: "order", path: [], expect: ["listPicker"])]
        brief.languages = [
            Brief.LanguageCase(locale: "en_US", hello: "Hi", help: "help", expect: ""),
            Brief.LanguageCase(locale: "de_DE", hello: "Hallo", help: "Hilfe", expect: "helfen"),
        ]
        brief.agents = [Brief.Agent(name: "Ana", says: ["Hello, this is Ana."])]
        brief.closedText = "closed"
        brief.domains = ["own.host"]
        brief.brand = "Sam's Fish"
        brief.notices = ["Your bread is ready."]
        return brief
    }

    static var business: ReviewedBusiness {
        var business = ReviewedBusiness(name: "Sam's Fish")
        business.hasPeople = true
        business.hasMenu = true
        business.words = ReviewPlan.personWords
        return business
    }

    @Test(arguments: faults) func `a fault is named by its own check`(_ fault: Fault) throws {
        let scene = try JudgedScene(fault.play, fault.name, locale: fault.locale, fault.story)
        let check = try #require(ReviewCheck.all.first { $0.number == fault.check })
        let result = check.result(Evidence(Self.brief, Self.business, [scene.transcript]))
        let finding = result.findings.first { $0.verdict == fault.verdict && $0.words.contains(fault.words) }
        #expect(finding != nil, "\(result.findings.map(\.words))")
        #expect(finding?.quotes.isEmpty == false || finding == nil)
    }

    /// Stories that look like a fault, and are none.
    private static let sound: [(check: Int, play: Play, story: [String])] = [
        (4, .stored, ["> Hi", "& Hello, I'm Ana.", "> Hi", "< I am a bot."]),
        (8, .greeting, ["> Hi", "< Write to ana@shop.example, at 9.30 or z.B. later."]),
        (9, .words, ["> Hi", "< Hello", "> help", waits]),
        (
            12, .offScript,
            ["> Hi", "< Hello", "> qq", "< A person can help you.", "> qq", "< A person can help you."]
        ),
        (13, .closed, ["> Hi", "< Hello", "> help", "= Closed until 9. #waiting"]),
        (14, .closed, ["> Hi", "< Hello", "> help", "= We are back tomorrow. #waiting"]),
        (16, .person, ["> help", waits, "- Ana writes", "& Hello, I'm Ana. #person"]),
        (22, .files, ["> Hi", "< Hello", "> [photo.png]", waits]),
        (
            23, .greeting,
            ["> Hi", "< " + JudgedScene.quickReply("Yes", "No"), "> Yes", "< What is your email?"]
        ),
        (
            30, .ending,
            ["> help", waits, "- Ana writes", "& Thank you, goodbye. #person", "- closes #closed"]
        ),
        (28, .deletion, ["> Hi", "< Hello", "> [deletes] #closed", "- a notice #closed", "> Hi", "< Hello"]),
        (32, .consent, ["> Hi", "< Hello", "> stop", "< You get no notices from us."]),
    ]

    @Test(arguments: sound) func `a sound story has no objection`(
        _ story: (check: Int, play: Play, story: [String])
    ) throws {
        let scene = try JudgedScene(story.play, "a file", story.story)
        let check = try #require(ReviewCheck.all.first { $0.number == story.check })
        let result = check.result(Evidence(Self.brief, Self.business, [scene.transcript]))
        #expect(result.findings.filter { $0.verdict == .objection && !$0.quotes.isEmpty }.map(\.words) == [])
    }

    @Test func `every check with a judge of messages has a fault in the table`() {
        let unseen: Set<Int> = [1, 2, 36, 37, 38]
        let named = Set(Self.faults.map(\.check))
        #expect(ReviewCheck.all.map(\.number).filter { !named.contains($0) && !unseen.contains($0) } == [])
    }

    @Test func `a business without persons, words and declarations has an objection or a missing line`()
        throws
    {
        let check = try #require(ReviewCheck.all.first { $0.number == 1 })
        let bare = check.result(Evidence(Brief(), ReviewedBusiness(name: "Fish"), []))
        #expect(bare.verdict == .objection)
        #expect(bare.findings.contains { $0.words.contains("bot-only") })
        #expect(bare.findings.contains { $0.words.contains("\"hours\"") })
        var business = Self.business
        business.words = ["help"]
        var brief = Self.brief
        brief.declarations = [.noExcludedIndustry: false]
        let some = check.result(Evidence(brief, business, []))
        #expect(some.findings.contains { $0.words.contains("agent, support") })
        #expect(some.findings.contains { $0.words.contains("denies") })
    }

    private static let button =
        "<script src='https://static.cdn-apple.com/businesschat/start-chat-button/2/index.js'></script><div data-apple-business-id='B-1'>"

    private static let pages: [(String?, String?)] = [
        (nil, "cannot be read"), ("<p>Write to us</p>", "has no button"),
        (button.replacing("B-1", with: "B-2"), "another business than b-1"),
        ("<a href='https://bcrw.apple.com/urn:biz:b-1'>", "Apple's script"), (button, nil),
    ]

    @Test(arguments: pages)
    func `the button of a page is Apple's and leads to the business`(_ page: String?, _ words: String?) throws
    {
        var brief = Brief()
        brief.entryPages = ["contact.html"]
        var business = Self.business
        business.id = "b-1"
        var evidence = Evidence(brief, business, [])
        evidence.files["contact.html"] = page.map { Array($0.utf8) }
        let findings = try #require(ReviewCheck.all.first { $0.number == 37 }).result(evidence).findings
        #expect(findings.contains { $0.words.contains("cannot be read") } == (page == nil))
        let faults = findings.filter { $0.verdict != .look }.map(\.words)
        #expect(faults.count == (words == nil ? 0 : 1) && faults.allSatisfy { $0.contains(words ?? "") })
    }

    @Test(arguments: [(nil, .notTested), (59, .ok), (60, .advice)] as [(Int?, Finding.Verdict)])
    func `an account without a message for two months is named`(_ days: Int?, _ verdict: Finding.Verdict)
        throws
    {
        var evidence = Evidence(Brief(), Self.business, [])
        evidence.idleDays = days
        #expect(try #require(ReviewCheck.all.first { $0.number == 38 }).result(evidence).verdict == verdict)
    }

    @Test func `a check without scenes of its own has no objection`() {
        let evidence = Evidence(Self.brief, Self.business, [])
        for check in ReviewCheck.all where check.number > 2 {
            #expect(check.result(evidence).verdict == (check.id == "C37" ? .look : .notTested), "\(check.id)")
        }
    }

    @Test(
        arguments: [
            ("C9-C15,C3", [3, 9, 10, 11, 12, 13, 14, 15]), ("c1", [1]), ("36", [36]), ("C40", nil),
            ("C37-38", [37, 38]),
            ("C9-", nil), ("", nil), ("C5-C2", nil), ("x", nil),
        ] as [(String, [Int]?)])
    func `a selection of checks is read`(text: String, numbers: [Int]?) {
        #expect(ReviewCheck.selected(by: text)?.map(\.number) == numbers)
    }
}
