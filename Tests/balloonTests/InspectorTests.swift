import BalloonJSON
import BalloonTransport
import TestSupport
import Testing

@testable import balloon

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
        let customer = try await first.customer(#"{"name":"Ana","device":"old-iphone"}"#)
        try await first.json("POST", "\(customer)/messages", #"{"text":"before the restart"}"#)
        _ = try await first.entry(customer) { $0["direction"]?.string == "outbound" }
        await first.server.kill()
        let second = try await InspectorClient(in: directory)
        let list = try await second.json("GET", "/dev/v1/customers")
        #expect(list["customers"]?.firstElement?["device"]?.string == "old-iphone")
        let entry = try await second.entry(customer) { $0["direction"]?.string == "inbound" }
        #expect(entry["line"]?["message"]?["body"]?.string == "before the restart")
        await second.server.stop()
    }

    @Test func `a device has the name of the commands, and an old iPhone's earlier name is read`()
        async throws
    {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let info = try await inspector.json("GET", "/dev/v1")
        let devices = info["devices"]?.elements.compactMap(\.string) ?? []
        #expect(devices == DeviceOptions.Device.allCases.map(\.rawValue))
        #expect(devices.contains("old-iphone"))
        for name in ["old-iphone", "older"] {
            let made = try await inspector.json(
                "POST", "/dev/v1/customers", #"{"device":"\#(name)"}"#, status: 201)
            #expect(made["device"]?.string == "old-iphone")
        }
        let changed = try await inspector.json(
            "PUT", try await inspector.customer(), #"{"device":"older"}"#)
        #expect(changed["device"]?.string == "old-iphone")
        #expect(DeviceOptions.Device(argument: "older") == .oldIPhone)
        await inspector.server.stop()
    }

    @Test(arguments: ["", "{}"])
    func `a reset forgets the customers, and their threads stay`(body: String) async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let sent = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        let known = try await inspector.json("GET", "/dev/v1/customers")
        let id = try #require(known["customers"]?.firstElement?["id"]?.string)
        #expect(try await inspector.send("POST", "/dev/v1/reset", body).status == 204)
        #expect(try await inspector.json("GET", "/dev/v1/customers")["customers"]?.count == 0)
        #expect(try await inspector.customer(#"{"id":"\#(id)"}"#) == customer)
        let again = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        #expect(again["id"]?.string == sent["id"]?.string)
        await inspector.server.stop()
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

@Suite struct InspectorDeliveryTests {
    @Test func `an answer by title reaches the handler, and one that was not offered gets 422`() async throws
    {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let question = try await inspector.entry(customer) { $0["kind"]?.string == "quickReply" }
        let id = try #require(question["id"]?.string)
        let wrong = try await inspector.json(
            "POST", "\(customer)/answers", #"{"to":"\#(id)","choice":{"items":["Pizza"]}}"#, status: 422)
        #expect(wrong["offered"]?.firstElement?.string == "1 Opening hours")
        let unknown = #"{"to":"no such message","choice":{"items":["1"]}}"#
        try await inspector.json("POST", "\(customer)/answers", unknown, status: 404)
        let choice = #"{"to":"\#(id)","choice":{"items":["Track my order"]}}"#
        let answer = try await inspector.json("POST", "\(customer)/answers", choice)
        #expect(answer["posts"]?.firstElement?["status"]?.int == 200)
        let reply = try await inspector.entry(customer) {
            $0["line"]?["message"]?["body"]?.string?.contains("Track my order") ?? false
        }
        #expect(reply["direction"]?.string == "outbound")
        try await inspector.expectsAnswer(to: id, of: customer, "quickReply")
        await inspector.server.stop()
    }

    @Test func `a delivery has its stages, the masked headers both ways and every try at the gateway`()
        async throws
    {
        let directory = TemporaryDirectory()
        let inspector = try await InspectorClient(in: directory)
        let customer = try await inspector.customer()
        try await inspector.json("PUT", "/dev/v1/misbehaviour", #"{"rules":["message=503,times=1"]}"#)
        let rules = try await inspector.json("GET", "/dev/v1/misbehaviour")
        #expect(rules["rules"]?.firstElement?.string == "message=503,times=1")
        try await inspector.json("PUT", "/dev/v1/misbehaviour", #"{"rules":["message=pizza"]}"#, status: 400)
        try await inspector.json("POST", "\(customer)/messages", #"{"text":"hello"}"#)
        let reply = try await inspector.entry(customer) { $0["direction"]?.string == "outbound" }
        let record = try #require(reply["record"]?.int)
        let delivery = try await inspector.json("GET", "/dev/v1/deliveries/\(record)")
        #expect(delivery["message"]?["body"]?.string == "hello")
        #expect(delivery["event"]?["status"]?.string == "handled")
        let headers = try #require(delivery["headers"])
        #expect(headers["authorization"]?.string?.hasSuffix(".…") == true)
        #expect(headers["capability-list"]?.string == "QUICK,LIST,TIME,AUTH,AUTH2,FORM")
        let stages = delivery["stages"]?.elements.compactMap { $0["stage"]?.string } ?? []
        #expect(stages.contains("journal") && stages.contains("handle") && stages.contains("reply"))
        #expect(delivery["attempts"]?.firstElement?["result"]?.string == "done")
        let tries = delivery["replies"]?.firstElement?["gateway"]?.elements.compactMap { $0["status"]?.int }
        #expect(tries == [503, 200])
        let curl = try #require(delivery["curl"]?.string)
        let shell = Shell(directory: directory.path)
        let unset = try await shell.run("unset BALLOON_URL\n\(curl)")
        #expect(unset.status != 0 && unset.errors.contains("dev.json"), "\(unset.errors)")
        let known = try #require(try DevelopmentServer.read(in: directory.file("data")))
        let posted = try await shell.run(
            "export BALLOON_URL=\(known.server)\n\(curl) --fail --silent --show-error")
        #expect(posted.status == 0, "\(posted.errors)")
        let stage = delivery["stages"]?.elements.first {
            $0["stage"]?.string == "reply" && $0["status"]?.int == 200
        }
        #expect(stage?["customer"]?.string != nil)
        #expect((stage?["bytes"]?.int ?? 0) > 0)
        try await inspector.json("GET", "/dev/v1/deliveries/999999", status: 404)
        try await inspector.json("GET", "/dev/v1/deliveries/x", status: 400)
        let replay = try await inspector.json(
            "POST", "/dev/v1/deliveries/\(record)/replay", #"{"times":3}"#)
        #expect(replay["posts"]?.elements.map { $0["status"]?.int } == [200, 200, 200])
        try await inspector.json(
            "POST", "/dev/v1/deliveries/\(record)/replay", #"{"times":101}"#, status: 400)
        await inspector.server.stop()
    }

    @Test func `files reach the handler from the request and from an upload`() async throws {
        let inspector = try await InspectorClient(in: TemporaryDirectory())
        let customer = try await inspector.customer()
        let upload = try await inspector.json("PUT", "/dev/v1/files", "a plain text", status: 201)
        let file = try #require(upload["file"]?.string)
        let body = """
            {"text":"see","attachments":[{"name":"a.txt","mimeType":"text/plain","data":"aGVsbG8="},
            {"name":"b.txt","mimeType":"text/plain","file":"\(file)"}]}
            """
        try await inspector.json("POST", "\(customer)/messages", body)
        let sent = try await inspector.entry(customer) { $0["direction"]?.string == "inbound" }
        let names = sent["line"]?["message"]?["attachments"]?.elements.compactMap { $0["name"]?.string }
        #expect(names == ["a.txt", "b.txt"])
        let message = InspectorClient.encoded(try #require(sent["id"]?.string))
        let path = "\(customer)/messages/\(message)/attachments"
        // The server fetches the files after it has written the line.
        let isFetched = try await eventually {
            try await inspector.send("GET", "\(path)/1").status == 200
        }
        #expect(isFetched)
        let first = try await inspector.send("GET", "\(path)/0")
        #expect(String(decoding: first.body, as: UTF8.self) == "hello")
        #expect(first.header("content-disposition") == "attachment")
        #expect(first.header("x-content-type-options") == "nosniff")
        try await inspector.json("GET", "\(path)/2", status: 404)
        try await inspector.json("GET", "\(path)/x", status: 404)
        try await inspector.json("GET", "\(customer)/messages/none/attachments/0", status: 404)
        let unknown = #"{"attachments":[{"name":"a","mimeType":"text/plain","file":"../dev.json"}]}"#
        try await inspector.json("POST", "\(customer)/messages", unknown, status: 404)
        await inspector.server.stop()
    }
}
