import BalloonJSON
import Testing

@testable import Review

@Suite struct BriefTests {
    private static func brief(_ json: String) throws -> Brief {
        try Brief(JSONDocument(Array(json.utf8)).root)
    }

    @Test func `a written brief is read back, and its empty rows say nothing`() throws {
        #expect(try Self.brief(Brief().json) == Brief())
        var brief = JudgesTests.brief
        brief.hours = "9 \"to\" 17"
        brief.logos = [Brief.Logo(file: "logo.png", background: "#003366")]
        brief.signIn = "alice"
        brief.declarations = [.testAccounts: true, .agentsTrained: false]
        #expect(try Self.brief(brief.json) == brief)
    }

    @Test func `a person is asked for what the brief does not say, until the input ends`() async {
        var brief = JudgesTests.brief
        brief.languages = [Brief.LanguageCase(locale: "de", hello: "Hallo")]
        (brief.useCases, brief.agents) = ([], [])
        var answers = [
            "9 to 17", "", "", "Hilfe", "helfen", "I want bread", "Order, Rye ", "listPicker", "", "Ana",
            "I'm Ana.", "Goodbye!", "", "", "fish.example, ", "", "-", "yes", "No",
        ]
        brief.hours = ""
        brief.closedText = ""
        (brief.signIn, brief.domains, brief.entryPages, brief.logos) = ("", [], [], [])
        (brief.notices, brief.declarations) = (nil, [:])
        await brief.complete { _ in answers.isEmpty ? nil : answers.removeFirst() }
        #expect(answers.isEmpty && brief.hours == "9 to 17" && brief.signIn.isEmpty)
        #expect(
            brief.languages == [
                Brief.LanguageCase(locale: "de", hello: "Hallo", help: "Hilfe", expect: "helfen")
            ])
        #expect(brief.useCases.map(\.path) == [["Order", "Rye"]])
        #expect(brief.agents.map(\.says) == [["I'm Ana.", "Goodbye!"]])
        #expect(brief.domains == ["fish.example"] && brief.entryPages == [] && brief.notices == [])
        #expect(brief.declarations == [.noExcludedIndustry: true, .oneCommercialAccount: false])
    }

    @Test(arguments: [
        ("{}", "\"format\": 1"), (#"{"format":1,"hour":""}"#, "\"hour\" is not a member here"),
        (#"{"format":1,"useCases":[{"word":""}]}"#, "\"word\" is not a member here"),
        (#"{"format":1,"useCases":{}}"#, "is not a list"), (#"{"format":1,"hours":1}"#, "is not a text"),
        (#"{"format":1,"declarations":{"testAccounts":1}}"#, "is not true or false"),
        (#"{"format":1,"agents":[{},{},{}]}"#, "at most 2"),
    ])
    func `a mistake of a brief is named`(json: String, reason: String) throws {
        do {
            _ = try Self.brief(json)
            Issue.record("the brief was read")
        } catch let error as Brief.Mistake {
            #expect(error.reason.contains(reason), "\(error.reason)")
        }
    }
}
