import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import TestSupport
import Testing

@testable import balloon

@Suite struct InspectorScenarioTests {
    private static let good =
        #"{"format":1,"steps":[{"send":"hello"},{"expect":[{"type":"text"},{"type":"interactive"}]},{"none":0.05}]}"#

    @Test func `a scenario is saved in the folder, listed, and played on the phone`() async throws {
        let directory = TemporaryDirectory()
        let inspector = try await InspectorClient("--scenarios tests", in: directory)
        let saved = try await inspector.json("PUT", "/dev/v1/scenarios/greeting", Self.good)
        #expect(saved["steps"]?.int == 3)
        try AtomicFile.write(Array("{}".utf8), to: directory.file("tests/broken.json"))
        let list = try await inspector.json("GET", "/dev/v1/scenarios")
        let scenarios = list["scenarios"].map { Array($0.elements) } ?? []
        #expect(scenarios.map { $0["name"]?.string } == ["broken", "greeting"])
        #expect(scenarios.first?["problem"]?.string?.contains("format") == true)
        #expect(scenarios.last?["steps"]?.int == 3)
        let read = try await inspector.json("GET", "/dev/v1/scenarios/greeting")
        #expect(read["steps"]?.count == 3)
        let played = try await inspector.json("POST", "/dev/v1/scenarios/greeting/play", "{}")
        #expect(played["passed"]?.bool == true)
        #expect(played["steps"]?.elements.map { $0["verdict"]?.string } == ["passed", "passed", "passed"])
        // A new customer has played, whose thread the page shows.
        let customer = "/dev/v1/customers/" + InspectorClient.encoded(played["customer"]?.string ?? "")
        let sent = try await inspector.entry(customer) { $0["direction"]?.string == "inbound" }
        #expect(sent["line"]?["message"]?["body"]?.string == "hello")
        await inspector.server.stop()
    }

    @Test func `a text is compared with a form's expression, and an invalid or undecided one accepts it`()
        async throws
    {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        for (expression, text, isValid, matches) in [
            (#"^\\d{2}$"#, "12", true, true), (#"^\\d{2}$"#, "1", true, false), ("([", "1", false, true),
            (#"(a)\\1"#, "ab", true, true),
        ] {
            let body = #"{"expression":"\#(expression)","text":"\#(text)"}"#
            let found = try await inspector.json("POST", "/dev/v1/expressions", body)
            #expect(found["isValid"]?.bool == isValid && found["matches"]?.bool == matches, "\(expression)")
        }
        await inspector.server.stop()
    }

    @Test func `a play as a customer ignores earlier replies, and says what differs`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let body = { (expected: String, customer: String, pace: String) in
            #"""
            {"scenario":{"format":1,"steps":[{"send":"hello"},{"expect":[{"type":"\#(expected)"},{"type":"interactive"}]},{"none":0}]},
            "pace":"\#(pace)","customer":\#(customer)}
            """#
        }
        let first = try await inspector.json(
            "POST", "/dev/v1/scenarios/play", body("text", "null", "atOnce"))
        #expect(first["passed"]?.bool == true)
        let customer = "\"\(first["customer"]?.string ?? "")\""
        let began = ContinuousClock.now
        let failed = try await inspector.json(
            "POST", "/dev/v1/scenarios/play", body("interactive", customer, "slow"))
        #expect(ContinuousClock.now - began >= .seconds(1))
        #expect(failed["passed"]?.bool == false)
        #expect(failed["steps"]?.elements.map { $0["verdict"]?.string } == ["passed", "failed", "skipped"])
        let failure = failed["steps"]?.elements.first { $0["failure"] != nil }?["failure"]?.firstElement
        #expect(failure?.string?.contains("/type: expected \"interactive\", got \"text\"") == true)
        await inspector.server.stop()
    }

    @Test(arguments: [("success", "64.00 EUR ended: paid"), ("failure", "64.00 EUR ended: declined")])
    func `a customer selects another delivery at the payment sheet, and pays or is declined`(
        end: String, words: String
    ) async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"pay"}"#)
        let request = try await inspector.entry(customer) { $0["kind"]?.string == "applePay" }
        let id = try #require(request["id"]?.string)
        let opened = try await inspector.json("POST", "\(customer)/payments", #"{"to":"\#(id)"}"#)
        #expect(opened["sheet"]?["total"]?["amount"]?.string == "59.00")
        let selected = try await inspector.json(
            "POST", "\(customer)/payments", #"{"to":"\#(id)","select":{"shippingMethod":"express"}}"#)
        #expect(selected["sheet"]?["total"]?["amount"]?.string == "64.00")
        for (member, status) in [
            (#""select":{}"#, 400), (#""pay":"later""#, 400),
        ] {
            try await inspector.json(
                "POST", "\(customer)/payments", #"{"to":"\#(id)",\#(member)}"#, status: status)
        }
        try await inspector.json("POST", "\(customer)/payments", #"{"to":"another"}"#, status: 409)
        let paid = try await inspector.json(
            "POST", "\(customer)/payments", #"{"to":"\#(id)","pay":"\#(end)"}"#)
        #expect(paid["posts"]?.firstElement?["status"]?.int == 200)
        _ = try await inspector.entry(customer) {
            $0["line"]?["message"]?["body"]?.string?.contains(words) == true
        }
        try await inspector.expectsAnswer(to: id, of: customer, "applePay")
        await inspector.server.stop()
    }

    @Test(arguments: [
        ("success", "iphone", "signed in as user-ann"), ("failure", "iphone", "ended: declined"),
        ("cancel", "iphone", "ended: "), ("success", "old-iphone", "signed in as user-ann"),
        ("failure", "old-iphone", "ended: failed"),
    ])
    func `a customer signs in at the provider of balloon dev, declines there, or cancels`(
        outcome: String, device: String, words: String
    ) async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer(#"{"name":"Ann","device":"\#(device)"}"#)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"sign in"}"#)
        let request = try await inspector.entry(customer) { $0["kind"]?.string == "authentication" }
        let id = try #require(request["id"]?.string)
        let body = #"{"to":"\#(id)","choice":{"outcome":"\#(outcome)"}}"#
        let posts = try await inspector.json("POST", "\(customer)/answers", body)
        #expect(posts["posts"]?.firstElement?["status"]?.int == 200)
        let answer = try await inspector.entry(customer) {
            $0["direction"]?.string == "outbound"
                && $0["line"]?["message"]?["body"]?.string?.contains(words) == true
        }
        #expect(answer["kind"]?.string == "text")
        try await inspector.expectsAnswer(to: id, of: customer, "authentication")
        await inspector.server.stop()
    }

    @Test func `an invalid scenario, a path as a name and a missing folder are refused`() async throws {
        let inspector = try await InspectorClient("--scenarios tests", in: TemporaryDirectory())
        let refusals = [
            ("PUT", "/dev/v1/scenarios/a", #"{"format":2}"#, 422),
            ("PUT", "/dev/v1/scenarios/a", #"{"format":1,"steps":[{"sing":1}]}"#, 422),
            ("PUT", "/dev/v1/scenarios/%2E%2E%2Fa", Self.good, 400),
            ("PUT", "/dev/v1/scenarios/a.b", Self.good, 400),
            ("GET", "/dev/v1/scenarios/none", "", 404),
            ("POST", "/dev/v1/scenarios/play", "{}", 400),
            ("POST", "/dev/v1/scenarios/play", #"{"scenario":\#(Self.good),"pace":"fast"}"#, 400),
            ("POST", "/dev/v1/scenarios/play", #"{"scenario":\#(Self.good),"customer":"nobody"}"#, 404),
        ]
        for (method, path, body, status) in refusals {
            try await inspector.json(method, path, body, status: status)
        }
        let long = #"{"scenario":{"format":1,"steps":[{"none":300},{"none":300}]}}"#
        try await inspector.json("POST", "/dev/v1/scenarios/play", long, status: 422)
        await inspector.server.stop()
        let without = try await InspectorClient(in: TemporaryDirectory())
        try await without.json("PUT", "/dev/v1/scenarios/a", Self.good, status: 409)
        let list = try await without.json("GET", "/dev/v1/scenarios")
        #expect(list["folder"] == nil && list["scenarios"]?.count == 0)
        await without.server.stop()
    }
}

/// Another version of a handler, which repeats each text twice.
private let otherHandler = #"""
    #!/bin/sh
    while IFS= read -r line; do
        id=$(printf '%s' "$line" | sed -E 's/^\{"jsonrpc": ?"2\.0", ?"id": ?([0-9]+).*/\1/')
        text=$(printf '%s' "$line" | grep -o '"summary":"[^"]*"' | head -1 | cut -d'"' -f4)
        case $line in
        *'"initialize"'*) result='{"protocolVersion":"1","handler":{"name":"other"},"events":["text"]}' ;;
        *'"method":"event"'*)
            echo "the other handler sees $text" >&2
            result="{\"replies\":[\"$text, $text\"],\"state\":{\"last\":\"$text\"}}" ;;
        *'"shutdown"'*) result='{}' ;;
        *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    done
    """#

@Suite struct InspectorTrialTests {
    @Test func `another handler's replies are shown, and reach the customer only on request`() async throws {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array(otherHandler.utf8), to: directory.file("other.sh"))
        _ = try await Shell(directory: directory.path).run("chmod +x other.sh")
        let inspector = try await InspectorClient(in: directory)
        let customer = try await inspector.customer()
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let reply = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        let path = "/dev/v1/deliveries/\(try #require(reply["record"]?.int))"
        let trial = try await inspector.json(
            "POST", "\(path)/replay", #"{"to":{"program":"./other.sh"},"times":2}"#)
        let runs = trial["runs"].map { Array($0.elements) } ?? []
        #expect(runs.count == 2)
        for run in runs {
            #expect(run["outcome"]?.string == "handled")
            #expect(run["replies"]?.firstElement?["message"]?["body"]?.string == "hello, hello")
            #expect(run["state"]?["last"]?.string == "hello")
            #expect(run["stderr"]?.elements.map(\.string) == ["the other handler sees hello"])
        }
        let edited = try await inspector.json(
            "POST", "\(path)/replay",
            #"{"to":{"program":"./other.sh"},"message":{"v":1,"type":"text","body":"edited"}}"#)
        let answer = edited["runs"]?.firstElement?["replies"]?.firstElement?["message"]?["body"]
        #expect(answer?.string == "edited, edited")
        // Nothing was sent, and the conversation's state is that of the real handler.
        let page = try await inspector.json("GET", "\(customer)/phone")
        #expect(page["thread"]?.count == 3)
        let name = try #require(trial["trial"]?.string)
        let sent = try await inspector.json("POST", "/dev/v1/trials/\(name)/send", #"{"run":1}"#)
        #expect(sent["sent"]?.firstElement?["outcome"]?.string == "accepted")
        let entry = try await inspector.entry(customer) {
            $0["line"]?["message"]?["body"]?.string == "hello, hello"
        }
        #expect(entry["status"]?.string == "accepted")
        try await inspector.json("POST", "/dev/v1/trials/\(name)/send", #"{"run":2}"#, status: 404)
        try await inspector.json("POST", "/dev/v1/trials/none/send", "{}", status: 404)
        await inspector.server.stop()
    }

    @Test func `a handler that does not start, or cannot be reached, is a problem and no reply`() async throws
    {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let reply = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        let path = "/dev/v1/deliveries/\(try #require(reply["record"]?.int))/replay"
        try await inspector.json("POST", path, #"{"to":{"program":"./nothing"}}"#, status: 422)
        try await inspector.json("POST", path, #"{"to":{}}"#, status: 400)
        try await inspector.json("POST", path, #"{"to":{"url":"ftp://a"}}"#, status: 400)
        let unreachable = try await inspector.json(
            "POST", path, #"{"to":{"url":"http://127.0.0.1:1/"}}"#)
        #expect(unreachable["runs"]?.firstElement?["outcome"]?.string == "failed")
        await inspector.server.stop()
    }
}

@Suite struct InspectorDocumentTests {
    /// Every operation below `/dev/v1`, with the status of a request without what it needs.
    private static let operations = [
        "get /dev/v1", "get /dev/v1/customers", "post /dev/v1/customers", "put /dev/v1/customers/{id}",
        "post /dev/v1/customers/{id}/messages", "post /dev/v1/customers/{id}/answers",
        "post /dev/v1/customers/{id}/payments", "get /dev/v1/customers/{id}/phone",
        "get /dev/v1/customers/{id}/messages/{message}/attachments/{n}", "put /dev/v1/files",
        "get /dev/v1/misbehaviour", "put /dev/v1/misbehaviour", "post /dev/v1/expressions",
        "post /dev/v1/reset",
        "get /dev/v1/events",
        "get /dev/v1/handlers", "post /dev/v1/handler", "get /dev/v1/deliveries/{record}",
        "post /dev/v1/deliveries/{record}/replay", "post /dev/v1/trials/{trial}/send",
        "get /dev/v1/scenarios", "get /dev/v1/scenarios/{name}", "put /dev/v1/scenarios/{name}",
        "post /dev/v1/scenarios/play", "post /dev/v1/scenarios/{name}/play", "get /dev/v1/openapi.json",
    ]

    @Test func `the OpenAPI document has every operation, and each of its operations is answered`()
        async throws
    {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let document = try await inspector.json("GET", "/dev/v1/openapi.json")
        #expect(document["openapi"]?.string == "3.1.0")
        var found: [String] = []
        for (path, item) in try #require(document["paths"]).members {
            for (method, operation) in item.members {
                found.append("\(method) \(path)")
                #expect(operation["summary"]?.string?.isEmpty == false, "\(method) \(path)")
                let names = operation["parameters"]?.elements.compactMap { $0["name"]?.string } ?? []
                for segment in path.split(separator: "/") where segment.hasPrefix("{") {
                    #expect(names.contains(String(segment.dropFirst().dropLast())), "\(path)")
                }
                // A stream does not end, and a reset forgets what others ask for.
                if path == "/dev/v1/events" || path == "/dev/v1/reset" { continue }
                let answer = try await inspector.send(
                    method.uppercased(), path.replacing("{", with: "").replacing("}", with: ""),
                    operation["requestBody"] == nil ? "" : "[]")
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(answer.status < 500 && answer.status != 405, "\(method) \(path): \(text)")
                #expect(!text.contains("there is no such resource"), "\(method) \(path)")
            }
        }
        #expect(found.sorted() == Self.operations.sorted())
        await inspector.server.stop()
    }

    @Test func `a request that the document's operations do not have is refused`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        try await inspector.json("DELETE", "/dev/v1/customers", status: 405)
        try await inspector.json("GET", "/dev/v1/scenario", status: 404)
        await inspector.server.stop()
    }
}
