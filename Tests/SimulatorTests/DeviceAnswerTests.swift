import BalloonJSON
import BusinessMessages
import TestSupport
import Testing

@testable import Simulator

/// Checks the answers to interactive messages in `Fixtures/answers`.
///
/// Each file has a message and several choices, each with the expected answer or the expected error text.
@Suite struct DeviceAnswerTests {
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("(a+)+$", false), (String(repeating: "[", count: 5000), true), ("^(a|aa)+$", false),
            (#"(a)\\1b"#, true),
        ])
    func `a form's expression that is hostile is matched in time, and an undecided one accepts the text`(
        expression: String, isAccepted: Bool
    ) throws {
        let message = try JSONDocument(
            Array(
                #"""
                {"type":"interactive","interactiveData":{"data":{"version":"1.0","requestIdentifier":"r","dynamic":{
                "version":"1.2","template":"messageForms","data":{"startPageIdentifier":"p","pages":[{"pageIdentifier":"p",
                "type":"input","title":"t","subtitle":"s","options":{"maximumCharacterCount":4000,"regex":"\#(expression)"}}]}}}}}
                """#.utf8))
        let fill = DeviceChoice.Fill(page: "p", value: String(repeating: "a", count: 3000) + "!")
        let today = try #require(DatePattern.iso.date(in: "2026-11-22"))
        let result = Result { () throws(DeviceAnswerError) in
            try DeviceAnswer(to: DeviceOffer(message), choosing: DeviceChoice(fills: [fill]), today: today)
        }
        #expect(((try? result.get()) != nil) == isAccepted)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            String(repeating: ".", count: 247), "'" + String(repeating: "\u{301}\u{323}", count: 60_000),
        ])
    func `a device ignores a date format of more than 256 bytes, and such a date is none`(rest: String) throws
    {
        func offered(_ format: String) throws -> [String] {
            let form = try JSONDocument(
                Array(
                    #"""
                    {"startPageIdentifier":"p","pages":[{"pageIdentifier":"p","type":"datePicker","title":"t","subtitle":"s",
                    "options":{"dateFormat":"\#(format)","startDate":"2026-11-22\#(rest)"}}]}
                    """#.utf8))
            return try #require(DeviceForm(form.root).pages.first).offered
        }
        #expect(try offered("yyyy-MM-dd" + rest) == ["a date as MM/dd/yyyy or yyyy-MM-dd"])
        #expect(try offered("dd.MM.yyyy") == ["a date as dd.MM.yyyy or yyyy-MM-dd"])
        let longest = "yyyy-MM-dd" + String(repeating: ".", count: 246)
        #expect(try #require(DatePattern(longest)).date(in: "2026-11-22" + longest.dropFirst(10)) != nil)
        #expect(DatePattern.iso.date(in: "2026-11-22" + rest) == nil)
    }

    @Test(arguments: Fixture.names(in: "answers"))
    func `a choice in a fixture makes the answer or the error in that fixture`(name: String) throws {
        let today = try #require(DatePattern.iso.date(in: "2026-11-22"))
        let table = try JSONDocument(Fixture.bytes("answers/" + name)).root
        let message = try JSONDocument(Array(try #require(table["message"]).text))
        let cases = try #require(table["cases"])
        #expect(cases.count > 0)
        for (number, test) in cases.elements.enumerated() {
            let choice = DeviceChoice(
                items: test["choose"]?.elements.compactMap(\.string) ?? [],
                fills: test["fill"]?.elements.compactMap { $0.string.flatMap(DeviceChoice.Fill.init(_:)) }
                    ?? [])
            let result = Result { () throws(DeviceAnswerError) in
                try DeviceAnswer(to: DeviceOffer(message), choosing: choice, today: today).json
            }
            switch result {
            case .success(let json):
                let answer = try JSONDocument(json)
                #expect(
                    sorted(answer.root) == test["answer"].map(sorted), "case \(number) of \(name)")
                // The answer that declines an invitation is a message of the type `close`.
                let isDeclined = answer.root["type"]?.string == "close"
                let kind = isDeclined ? Kind.close : InboundEvent.decode(message: message).kind
                #expect(InboundEvent.decode(message: answer).kind == kind)
            case .failure(let error):
                #expect(error.description == test["error"]?.string, "case \(number) of \(name)")
            }
        }
    }

    /// The text of a value with the members of its objects sorted by name.
    private func sorted(_ value: JSONValue) -> String {
        switch value.kind {
        case .object:
            let members = value.members.map { "\($0.key.debugDescription):\(sorted($0.value))" }
            return "{\(members.sorted().joined(separator: ","))}"
        case .array: return "[\(value.elements.map(sorted).joined(separator: ","))]"
        case .string: return (value.string ?? "").debugDescription
        case .number, .boolean, .null: return String(decoding: value.text, as: UTF8.self)
        }
    }
}
