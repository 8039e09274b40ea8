import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

@testable import RetentionClient
@testable import balloon

struct RehearsalTests {
    private func result(
        _ rate: Int, _ result: String, failures: String = "{}", empty: Int = 0
    ) throws -> JSONValue {
        try JSONDocument(
            Array(
                #"{"config":{"totalRequests":100,"responseTimeThreshold":500,"successRateThreshold":95},"result":"\#(result)","successRate":\#(rate),"emptyAnswers":\#(empty),"responseTimes":{"average":3,"p50":2,"p90":4,"p95":5,"p99":9},"failures":\#(failures)}"#
                    .utf8)
        ).root
    }

    private func tally(handler: Int, rules: Int, _ failures: [String: Int] = [:]) -> DecisionTally {
        var tally = DecisionTally()
        tally.handler = handler
        tally.failures = failures
        tally.count = handler + rules + failures.values.reduce(0, +)
        return tally
    }

    @Test func `a rehearsal passes when the test passes and the handler was in time`() throws {
        for tally in [nil, tally(handler: 100, rules: 0), tally(handler: 40, rules: 55, ["late": 5])] {
            let verdict = RehearsalVerdict(try result(95, "PASS"), tally: tally, budget: .milliseconds(450))
            #expect(verdict.isPassed && verdict.text.hasSuffix("PASS\n"))
            #expect(!verdict.text.contains("because"))
        }
    }

    @Test func `a rehearsal that fails says why`() throws {
        let cases: [(rate: Int, result: String, failures: String, tally: DecisionTally?, reason: String)] = [
            (94, "FAIL", #"{"TIMED_OUT":6}"#, nil, "because: TIMED_OUT: 6 questions"),
            (0, "FAIL", #"{"SOCKET_ISSUE":100}"#, nil, "because: SOCKET_ISSUE: 100 questions"),
            (10, "PENDING", "{}", nil, "because: the test did not end"),
            (
                100, "PASS", "{}", tally(handler: 0, rules: 0, ["late": 100]),
                "because: the handler did not answer within 450 ms (budgetMilliseconds) in 100 of 100 questions, so the rules answered"
            ),
            (
                100, "PASS", "{}", tally(handler: 94, rules: 0, ["busy": 6]),
                "because: all slots of the handler were taken"
            ),
            (
                100, "PASS", "{}", tally(handler: 0, rules: 0, ["invalid": 100]),
                "because: the handler named a message"
            ),
            (
                100, "PASS", "{}", tally(handler: 0, rules: 0, ["failed": 100]),
                "because: the handler failed or was not running"
            ),
            (100, "PASS", "{}", tally(handler: 9, rules: 0), "because: 91 decisions were not recorded"),
        ]
        for (rate, outcome, failures, tally, reason) in cases {
            let verdict = RehearsalVerdict(
                try result(rate, outcome, failures: failures), tally: tally, budget: .milliseconds(450))
            #expect(!verdict.isPassed && verdict.text.hasSuffix("FAIL\n"))
            #expect(verdict.text.contains(reason), "\(verdict.text)")
        }
    }

    @Test(arguments: [
        (0, false, true), (5, false, true), (6, false, false), (100, false, false), (100, true, true),
    ])
    func `answers without a message fail a rehearsal unless they are asked for`(
        empty: Int, allowsEmpty: Bool, isPassed: Bool
    ) throws {
        let verdict = RehearsalVerdict(
            try result(100, "PASS", empty: empty), tally: nil, budget: .milliseconds(450),
            allowsEmpty: allowsEmpty)
        #expect(verdict.isPassed == isPassed && verdict.text.hasSuffix(isPassed ? "PASS\n" : "FAIL\n"))
        #expect(verdict.text.contains("because: \(empty) answers named no message") == !isPassed)
    }

    @Test func `the progress of an upload says when the uploads end, where Apple's limits apply`() {
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        func text(_ remaining: Duration) -> String {
            RetentionOptions.text(
                RetentionApplication.Progress(number: 3, total: 50, remaining: remaining), now: now)
        }
        #expect(text(.zero) == "(3 of 50)")
        #expect(text(.seconds(480)) == "(3 of 50, until 08:08:00 UTC)")
    }

    @Test func `records of decisions are counted by origin and failure`() {
        let lines = [
            #"{"source":"handler"}"#, #"{"source":"rule"}"#, #"{"source":"rule","handler":"late"}"#,
            #"{"source":"none","handler":"late"}"#, #"{"source":"ha"#,
        ]
        let tally = DecisionTally(lines.joined(separator: "\n").utf8)
        #expect(tally.count == 4 && tally.handler == 1 && tally.inTime == 2)
        #expect(tally.failures == ["late": 2])
    }

    @Test func `the words of a cancellation say what the subscriber sees`() throws {
        let cases = [
            (#"{"asked":false,"shown":"nothing"}"#, "the App Store asks nothing"),
            (
                #"{"asked":true,"milliseconds":3,"status":200,"answer":{"message":{}},"shown":"answer","header":"Stay","body":"b"}"#,
                "answer after 3 ms: {\"message\":{}}\nthe subscriber sees the message of the answer: Stay / b\n"
            ),
            (
                #"{"asked":true,"milliseconds":700,"failure":"TIMED_OUT","shown":"default","header":"Stay","body":"b"}"#,
                "no answer: TIMED_OUT after 700 ms\nthe subscriber sees the default message: Stay / b\n"
            ),
            (
                #"{"asked":true,"milliseconds":1,"status":503,"failure":"UNSUCCESSFUL_HTTP_RESPONSE_CODE","shown":"default","header":"S","body":"b"}"#,
                "no answer: UNSUCCESSFUL_HTTP_RESPONSE_CODE (status 503) after 1 ms"
            ),
        ]
        for (json, text) in cases {
            let words = SimulatedCancellation.text(try JSONDocument(Array(json.utf8)).root)
            #expect(words.hasPrefix(text), "\(words)")
        }
    }
}
