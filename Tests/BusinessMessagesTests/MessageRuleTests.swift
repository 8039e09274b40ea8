import BalloonJSON
import BusinessMessages
import Testing

struct MessageRuleTests {
    private func problems(_ document: JSONDocument) -> [MessageProblem] {
        // The moment at which 2026-07-10 begins in the earliest time zone.
        OutboundMessage.problems(in: document.root, needsEnvelope: true, now: 1_783_591_200)
    }

    @Test(arguments: outboundNames)
    func `no outbound fixture breaks a validation rule`(name: String) throws {
        #expect(problems(try outboundSample(name)).map(\.description) == [])
    }

    @Test(arguments: outboundMessages)
    func `no outbound message that the tests build from typed values breaks a rule`(
        name: String, message: OutboundMessage
    ) {
        #expect(message.problems().map(\.description) == [])
    }

    @Test(arguments: ruleCases)
    func `each rule accepts a value at its limit and refuses a value beyond it`(example: RuleCase) throws {
        let fixture = try outboundSample(example.fixture)
        let sound = problems(try fixture.replacing(example.pointer, by: example.sound))
        #expect(!sound.contains { $0.rule == example.rule }, "\(sound.map(\.description))")
        let broken = problems(try fixture.replacing(example.pointer, by: example.broken))
        let found = broken.filter { $0.rule == example.rule }.map(\.pointer)
        #expect(found == [example.place], "\(broken.map(\.description))")
    }

    @Test(arguments: [
        ("listPicker", "/interactiveData/useLiveLayout", "true"),
        ("applePay", "/interactiveData/data/payment/paymentRequest/merchantName", #""Sam's Fish""#),
        ("listPicker", "/interactiveData/replyMessage/alternateTitle", #""a""#),
        ("form", "/interactiveData/receivedMessage/alternateTitle", #""a""#), ("text", "/locale", "null"),
        ("form", "/interactiveData/data/dynamic/data/pages/6/options", "null"),
    ])
    func `a member that Apple's samples have without documenting it breaks no rule`(
        name: String, pointer: String, value: String
    ) throws {
        let changed = try outboundSample(name).replacing(pointer, by: value)
        #expect(problems(changed).map(\.description) == [])
    }

    @Test func `a form's earliest date is compared with today only when the caller gives the time`() throws {
        let options = #"{"minimumDate":"12/31/9999"}"#
        let changed = try outboundSample("form-options").replacing(
            "/interactiveData/data/dynamic/data/pages/1/options", by: options)
        #expect(OutboundMessage.problems(in: changed.root).map(\.rule) == [])
        #expect(OutboundMessage.problems(in: changed.root, now: 0).map(\.rule) == [.dateMaximum])
        #expect(OutboundMessage.problems(in: changed.root, now: Int.max).map(\.rule).count <= 1)
    }

    @Test func `every validation rule has a test case`() {
        // Rules that no changed fixture can break have separate tests.
        let elsewhere: Set<MessageRule> = [
            .json, .fullyChecked, .repeatedMember, .capability, .livePersonType, .livePersonImage,
            .signInMember,
            .signInParameters, .paymentMember, .paymentSum,
        ]
        let tried = Set(ruleCases.map(\.rule)).union(elsewhere)
        #expect(Set(MessageRule.allCases).subtracting(tried) == [])
    }

    @Test func `invalid JSON is reported as one problem with its line and column`() {
        let problems = OutboundMessage.problems(inJSON: Array("{\n \"type\": }".utf8))
        #expect(problems.map(\.rule) == [.json])
        #expect(problems.first?.line == 2)
        #expect(problems.first?.column == 10)
    }

    @Test func `a repeated member is reported at its second place`() {
        let bytes = Array(#"{"type":"typing_end","type":"typing_start"}"#.utf8)
        let problems = OutboundMessage.problems(inJSON: bytes)
        #expect(problems.map(\.rule) == [.repeatedMember])
        #expect(problems.map(\.column) == [29])
    }

    @Test func `all problems of a message are reported at once, in the order of the text`() {
        let message = """
            {"type": "interactive", "id": "1",
             "interactiveData": {"bid": "\(Interaction.businessExtension)",
              "data": {"version": 1,
               "quick-reply": {"items": [{"identifier": "a"}]}}}}
            """
        let problems = OutboundMessage.problems(inJSON: Array(message.utf8))
        #expect(
            problems.map { "\($0.line):\($0.column) \($0.rule) \($0.pointer)" }
                == [
                    "1:31 messageIdentifier /id",
                    "3:11 required /interactiveData/data/requestIdentifier",
                    "3:23 type /interactiveData/data/version",
                    "4:19 required /interactiveData/data/quick-reply/summaryText",
                    "4:29 quickReplyCount /interactiveData/data/quick-reply/items",
                    "4:30 required /interactiveData/data/quick-reply/items/0/title",
                ])
        #expect(problems.hasErrors)
    }

    @Test func `a message without the members of the envelope is valid as a draft only`() throws {
        let draft = try json(#"{"type":"text","body":"a"}"#)
        #expect(OutboundMessage.problems(in: draft.root) == [])
        #expect(
            problems(draft).map(\.pointer).sorted() == ["/destinationId", "/id", "/sourceId", "/v"])
    }

    @Test
    func
        `the description of a problem has its rule, its place, the found and allowed values, and the passage`()
        throws
    {
        let message = try json(#"{"type":"text","body":7}"#)
        let problem = try #require(OutboundMessage.problems(in: message.root).first)
        #expect(
            problem.description
                == #"error: /body: type: found 7, allowed a text (Apple MSP API, "Common Specifications")"#)
        #expect(problem.severity == .error)
    }

    @Test(arguments: MessageRule.allCases)
    func `the schema contains no rule that is a warning, and only general rules lack a passage`(
        rule: MessageRule
    ) {
        #expect(!(rule.isInSchema && rule.severity == .warning))
        let isGeneric = [.type, .required, .empty, .unknownMember].contains(rule)
        #expect((rule.passage == nil) == isGeneric)
    }
}
