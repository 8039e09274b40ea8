import BalloonJSON
import BalloonTransport
import TestSupport
import Testing

@Suite struct InspectorTests {
    @Test func `a customer's text appears in the thread with the reply of the handler`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let overview = try await inspector.json("GET", "/dev/v1")
        #expect(overview["businesses"]?.firstElement?["slug"]?.string == "demo")
        #expect(overview["businesses"]?.firstElement?["handler"]?.string == "demo")
        let customer = try await inspector.customer(#"{"name":"Ana","device":"mac","zone":"Europe/Berlin"}"#)
        let answer = try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        #expect(answer["posts"]?.elements.map { $0["status"]?.int } == [200])
        let sent = try await inspector.entry(customer) { $0["direction"]?.string == "inbound" }
        #expect(sent["line"]?["message"]?["body"]?.string == "hello")
        #expect(sent["line"]?["capabilities"]?.string == "QUICK,LIST,TIME,AUTH,AUTH2")
        let reply = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        #expect(reply["status"]?.string == "accepted")
        #expect(reply["answered"]?.bool == false)
        let list = try await inspector.json("GET", "/dev/v1/customers")
        let known = try #require(list["customers"]?.firstElement)
        #expect(known["name"]?.string == "Ana")
        #expect(known["business"]?.string == "demo")
        #expect((known["last"]?.int ?? 0) >= 2)
        await inspector.server.stop()
    }

    @Test func `customers and threads are there again after a kill and a restart`() async throws {
        let directory = TemporaryDirectory()
        let first = try await InspectorClient(in: directory)
        let customer = try await first.customer(#"{"name":"Ana","device":"older"}"#)
        try await first.json("POST", "\(customer)/messages", #"{"text":"before the restart"}"#)
        _ = try await first.entry(customer) { $0["direction"]?.string == "outbound" }
        await first.server.kill()
        let second = try await InspectorClient(in: directory)
        let list = try await second.json("GET", "/dev/v1/customers")
        #expect(list["customers"]?.firstElement?["device"]?.string == "older")
        let entry = try await second.entry(customer) { $0["direction"]?.string == "inbound" }
        #expect(entry["line"]?["message"]?["body"]?.string == "before the restart")
        await second.server.stop()
    }

    @Test func `a wrong token gets 401, a foreign Host 421 and a foreign Origin 403`() async throws {
        let inspector = try await InspectorClient("--inspector-host desk.example", in: TemporaryDirectory())
        let token = (name: "authorization", value: "Bearer " + inspector.token)
        func status(_ headers: [(name: String, value: String)], _ path: String = "/dev/v1") async throws
            -> Int
        {
            try await inspector.send("GET", path, headers: headers).status
        }
        #expect(try await status([]) == 401)
        #expect(try await status([("authorization", "Bearer " + inspector.token + "0")]) == 401)
        #expect(try await status([("authorization", "Basic " + inspector.token)]) == 401)
        #expect(try await status([token]) == 200)
        #expect(try await status([token, ("host", "attacker.example")]) == 421)
        #expect(try await status([("host", "attacker.example")], "/") == 421)
        #expect(try await status([token, ("host", "127.0.0.1.attacker.example")]) == 421)
        // The port is not compared: a tunnel or a container has another one.
        #expect(try await status([token, ("host", "DESK.example:9")]) == 200)
        #expect(try await status([token, ("host", "[::1]:1")]) == 200)
        #expect(try await status([token, ("origin", "http://attacker.example")]) == 403)
        #expect(try await status([token, ("origin", "null")]) == 403)
        #expect(try await status([token, ("origin", inspector.url)]) == 200)
        #expect(try await status([token], "/dev/v1/nothing") == 404)
        await inspector.server.stop()
    }

    @Test func `requests outside the bounds are refused with the member at fault`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer(#"{"id":"urn:mbid:one"}"#)
        try await inspector.json("POST", "/dev/v1/customers", #"{"id":"urn:mbid:one"}"#, status: 409)
        let device = try await inspector.json(
            "POST", "/dev/v1/customers", #"{"device":"pager"}"#, status: 400)
        #expect(device["pointer"]?.string == "/device")
        #expect(device["offered"]?.firstElement?.string == "iphone")
        let times = try await inspector.json(
            "POST", "\(customer)/messages", #"{"text":"a","levers":{"times":6}}"#, status: 400)
        #expect(times["pointer"]?.string == "/levers/times")
        try await inspector.json("POST", "\(customer)/messages", #"{"text":1}"#, status: 400)
        try await inspector.json("POST", "\(customer)/messages", "[]", status: 400)
        try await inspector.json("POST", "/dev/v1/customers/nobody/messages", #"{"text":"a"}"#, status: 404)
        try await inspector.json("GET", "\(customer)/phone?wait=26", status: 400)
        try await inspector.json("GET", "\(customer)/phone?limit=0", status: 400)
        await inspector.server.stop()
    }

    @Test func `levers repeat a message, add a second device and spoil the token`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        func posts(_ levers: String) async throws -> [JSONValue] {
            let body = #"{"kind":"listPicker","levers":\#(levers)}"#
            let answer = try await inspector.json("POST", "\(customer)/messages", body)
            return answer["posts"].map { Array($0.elements) } ?? []
        }
        let twice = try await posts(#"{"times":2,"devices":2,"payload":"reference"}"#)
        #expect(twice.map { $0["status"]?.int } == [200, 200, 200, 200])
        #expect(Set(twice.map { $0["id"]?.string }).count == 2)
        #expect(try await posts(#"{"token":"wrong"}"#).map { $0["status"]?.int } == [403])
        #expect(try await posts(#"{"token":"expired"}"#).map { $0["status"]?.int } == [403])
        #expect(try await posts(#"{"token":"missing"}"#).map { $0["status"]?.int } == [401])
        await inspector.server.stop()
    }
}
