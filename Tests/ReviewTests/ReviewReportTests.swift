import BalloonJSON
import Testing

@testable import Review

@Suite struct ReviewReportTests {
    private static func report() throws -> ReviewReport {
        let scene = try JudgedScene(
            .greeting, "first <customer>",
            ["> Hi", "< See https://a.example & more", "> help", "= Soon. #waiting", "& Hello, I am Ana."])
        return ReviewReport(
            ReviewCheck.all, Evidence(JudgesTests.brief, JudgesTests.business, [scene.transcript]))
    }

    @Test func `the text has every check, the quoted turn, the source and no promise`() throws {
        let text = try Self.report().text { $0 }
        for check in ReviewCheck.all { #expect(text.contains("\(check.id) ")) }
        #expect(text.contains("first <customer>, 0.1 s customer: Hi -> 0.2 s See https://a.example & more"))
        #expect(text.contains("T1 T2 B6: Apple: API; Amazon Connect; Sprinklr (Apple)"))
        #expect(!text.contains("will pass"))
    }

    @Test func `the JSON has the verdicts and the transcripts`() throws {
        let root = try JSONDocument(try Self.report().json).root
        let checks = root["checks"]?.elements.map(\.self) ?? []
        #expect(checks.count == 38)
        #expect(checks.first { $0["id"]?.string == "C8" }?["verdict"]?.string == "objection")
        #expect(checks.first { $0["id"]?.string == "C8" }?["findings"]?[0]?["quotes"]?[0]?["turn"]?.int == 0)
        #expect(root["scenes"]?[0]?["turns"]?[1]?["state"]?.string == "waiting")
        #expect(root["scenes"]?[0]?["turns"]?[1]?["messages"]?[1]?["person"]?.string == "Ana")
    }

    @Test func `the page escapes texts and shows bubbles`() throws {
        let html = try Self.report().html { $0.replacing("&", with: "&amp;").replacing("<", with: "&lt;") }
        #expect(html.contains("<div class=\"b\"><p>See https://a.example &amp; more</p>"))
        #expect(html.contains("first &lt;customer>") && !html.contains("<customer>"))
        #expect(html.contains("href=\"#s0t0\"") && html.contains("id=\"s0t0\""))
    }

    @Test func `the script has the words of the rehearsal`() throws {
        let evidence = Evidence(
            JudgesTests.brief, JudgesTests.business,
            [
                try JudgedScene(
                    .greeting, "first customer",
                    ["> Hi", "< Hello.", "< " + JudgedScene.quickReply("Order", "Person")]
                ).transcript
            ])
        let text = ShootingScript(evidence, slug: "fish").text { $0 }
        #expect(text.contains("Scene 1: the first conversation\n  type  Hi\n  see   text: Hello."))
        #expect(text.contains("[Order | Person]"))
        #expect(text.contains("balloon people close fish --text 'closed'"))
    }

    @Test func `the table of features names the scenes that show them, and the rest`() throws {
        let evidence = Evidence(
            JudgesTests.brief, JudgesTests.business,
            [
                try JudgedScene(.features, "texts", ["> Hi", "< Hello.", "- Ana writes", "& 你好"]).transcript
            ])
        let text = Feature.table(evidence) { $0 }
        #expect(
            text.contains(
                "M1  text in both directions  bot: shown in \"texts\", turn 1  agent: shown in \"texts\", turn 2"
            ))
        #expect(text.contains("M12  forms  bot: not shown  agent: not shown"))
        #expect(Feature.all.map(\.number) == Array(1...21))
    }
}
