extension ReviewCheck {
    /// The rows whose names a selection such as `C9-C15,C3` names; nil for a selection that names none.
    package static func selected(by text: String) -> [ReviewCheck]? {
        var numbers: Set<Int> = []
        for part in text.split(separator: ",") {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { end in
                Int(end.first == "C" || end.first == "c" ? end.dropFirst() : end[...])
            }
            guard let first = ends.first, let low = first, let last = ends.last, let high = last,
                ends.count <= 2,
                low <= high, all.contains(where: { (low...high).contains($0.number) })
            else { return nil }
            numbers.formUnion(all.map(\.number).filter { (low...high).contains($0) })
        }
        return numbers.isEmpty ? nil : all.filter { numbers.contains($0.number) }
    }

    /// The plays in which a business says most of its texts.
    private static let texts: [Play] = [.greeting, .buttons, .useCases]

    /// The table of the review.
    ///
    /// A rule that Apple changes is one row here; `scripts/generated` writes the manual's table from these rows.
    package static let all: [ReviewCheck] = [
        ReviewCheck(
            1,
            "Persons answer in opening hours, the words lead to them, and the business declares what only it can know.",
            "E1 G5 P9 R1 R3", from: "Apple: policies, FAQ, QA page", .apple, [], Judges.declarations),
        ReviewCheck(
            2,
            "The logo is square, opaque, at least 1024 pixels wide, PNG or JPEG, at most 2 MB, with contrast and a margin.",
            "T6", from: "Apple: Human Interface Guidelines, registration", .apple, [], Judges.logos),
        ReviewCheck(
            3, "Automation answers a new conversation within 5 seconds.",
            "B1", from: "Apple: design pages; Amazon Connect; Sprinklr; LiveChat", .apple, [.greeting],
            Judges.firstAnswer),
        ReviewCheck(
            4, "The first answer says that it is automated, and nothing claims to be a human.",
            "B2 B6", from: "Apple: design pages; Amazon Connect; LiveChat", .apple, [.greeting, .languages],
            Judges.disclosure),
        ReviewCheck(
            5,
            "A menu opens the conversation: a quick reply with up to 5 choices, otherwise a list, with a person among them.",
            "B3", from: "Amazon Connect; Sprinklr; LiveChat; LivePerson", .vendors, [.greeting], Judges.menu),
        ReviewCheck(
            6, "A typing indicator is shown before each message of a program.",
            "B7", from: "Amazon Connect; Sprinklr", .vendors, texts, Judges.typing),
        ReviewCheck(
            7, "Terms and privacy are one link at the first contact, and no text is a wall of legal words.",
            "B5", from: "Apple: policies, as quoted; Amazon Connect; Sprinklr", .quoted, texts, Judges.terms),
        ReviewCheck(
            8, "Each web address is a rich link with a picture and a title, never a part of a text.",
            "T1 T2 B6", from: "Apple: API; Amazon Connect; Sprinklr", .apple, texts, Judges.links),
        ReviewCheck(
            9, "The words agent, support and help lead to a person.",
            "E1 E2", from: "Apple: policies, design pages", .apple, [.words], Judges.words),
        ReviewCheck(
            10, "The words count in each spelling and language, and menu, list and ? show the menu.",
            "E2 P6", from: "Apple: policies; Infobip", .apple, [.words], Judges.spellings),
        ReviewCheck(
            11, "The word help counts while a question is open, and while the handler is slow or down.",
            "E2", from: "Apple: policies, design pages", .apple, [.stuck, .faults], Judges.stuck),
        ReviewCheck(
            12, "A bot that does not understand says so, and offers a person by the second time.",
            "E3 T10", from: "Apple: design pages, QA page; Amazon Connect", .apple, [.offScript],
            Judges.offScript),
        ReviewCheck(
            13, "A transfer to a person is announced, with the expected wait.",
            "E4", from: "LiveChat; Apple, as quoted", .quoted, [.handOff, .words], Judges.handOff),
        ReviewCheck(
            14, "Outside the hours an automatic text says when a person answers.",
            "E5", from: "Apple: design pages, Human Interface Guidelines; Amazon Connect", .apple, [.closed],
            Judges.night),
        ReviewCheck(
            15, "A conversation can be started at any hour, by each entry link.",
            "E6", from: "Apple: Human Interface Guidelines", .apple, [.closed], Judges.nightEntry),
        ReviewCheck(
            16, "Each person writes a name in the first message; one person answers at a time.",
            "G1 G2", from: "Apple: design pages; Amazon Connect; LiveChat", .apple, [.person], Judges.persons),
        ReviewCheck(
            17, "Neither bot nor person asks again for what the customer said.",
            "G3", from: "Apple: design pages; Amazon Connect", .apple, [.memory], Judges.memory),
        ReviewCheck(
            18, "Each interactive message has a title, a picture of the documented size, and short choices.",
            "T3 T7 T8", from: "Amazon Connect; Sprinklr; Webex; Apple: Human Interface Guidelines", .vendors,
            texts, Judges.bubbles),
        ReviewCheck(
            19, "Each device gets only what it can show, or a substitute.",
            "T9", from: "Apple: API", .apple, [.devices], Judges.devices),
        ReviewCheck(
            20, "A returning customer gets another greeting.",
            "B4", from: "LiveChat", .vendor, [.returning], Judges.returning),
        ReviewCheck(
            21, "A slow or failing handler or gateway leaves no customer without an answer.",
            "T10", from: "Apple: QA page", .apple, [.faults], Judges.faults),
        ReviewCheck(
            22, "Files are acknowledged, and a tapback starts nothing.",
            "D1", from: "Apple: API", .apple, [.files], Judges.files),
        ReviewCheck(
            23, "Personal data is asked for after a yes or no, and secrets never in a text.",
            "P7 P8", from: "Apple: policies, as quoted; Human Interface Guidelines", .quoted,
            [.greeting, .buttons, .useCases, .memory], Judges.personalData),
        ReviewCheck(
            24, "Greeting, transfer and night text are in the customer's language.",
            "T11", from: "Apple: QA page", .apple, [.languages, .closed], Judges.languages),
        ReviewCheck(
            25, "Each use case and each button of the menu leads to its end.",
            "T12", from: "Apple: QA page; Amazon Connect; LiveChat", .apple, [.useCases, .buttons],
            Judges.paths),
        ReviewCheck(
            26, "Texts are short and friendly, without markup, placeholders and shouting.",
            "T4", from: "Apple: design pages, older Human Interface Guidelines", .apple, texts, Judges.tone),
        ReviewCheck(
            27, "The brand is spelled as registered, and the channel has Apple's name.",
            "T5", from: "Apple: QA page, Human Interface Guidelines", .apple, texts, Judges.brand),
        ReviewCheck(
            28, "After a deletion nothing is sent until the customer writes.",
            "P2", from: "Apple: policies, API", .apple, [.deletion], Judges.deletion),
        ReviewCheck(
            29, "A silent customer gets at most one reminder.",
            "P1", from: "Apple: policies", .apple, [.silence], Judges.silence),
        ReviewCheck(
            30, "A person ends with a closing sentence, and the survey follows the end, once.",
            "G6", from: "Amazon Connect; Sprinklr", .vendors, [.ending, .greeting, .buttons, .useCases],
            Judges.ending),
        ReviewCheck(
            31, "Apple's sentence about unsubscribing precedes the first notice.",
            "P3", from: "Apple: policies; Infobip", .apple, [.notices], Judges.noticeSentence),
        ReviewCheck(
            32, "The words unsubscribe, stop, end, spam and subscribe are understood.",
            "P4", from: "Apple: policies; Infobip", .apple, [.consent], Judges.consent),
        ReviewCheck(
            33, "No marketing precedes the word subscribe.",
            "P5", from: "Apple: policies", .apple, texts, Judges.marketing),
        ReviewCheck(
            34, "A sign-in that succeeds, fails or is cancelled is answered.",
            "S2", from: "Apple: API, QA page", .inference, [.signIn], Judges.signIn),
        ReviewCheck(
            35, "A payment that succeeds, fails or is cancelled is answered, and the order can be asked for.",
            "S1", from: "Apple: older Human Interface Guidelines", .apple, [.payment], Judges.payment),
        ReviewCheck(
            36,
            "The recordings show the basic conversation, the night, the returning customer and each button.",
            "R2 G4", from: "LiveChat", .vendor, [.greeting, .buttons, .returning, .closed],
            Judges.recordings),
        ReviewCheck(
            37, "The website's button is Apple's, leads to this business, and is as large as other contacts.",
            "E8", from: "Apple: Human Interface Guidelines, FAQ", .apple, [], Judges.entryPages),
        ReviewCheck(
            38, "The account is in use: Apple may deactivate one without a message for three months.",
            "R4", from: "Webex; Apple: policies, as quoted", .quoted, [], Judges.idleness),
    ]
}
