import BalloonJSON
import BusinessMessages
import Testing

struct ResolvedMessageTests {
    private func resolved(_ message: String, _ decoded: String) throws -> String? {
        try resolving(message: json(message), with: json(decoded)).map { text($0) }
    }

    @Test(arguments: [
        #"{"interactiveData":{"bid":"b","URL":"?a"}}"#,
        #"{"bid":"b","URL":"?a"}"#,
        " {\n\"bid\":\"b\",\"URL\":\"?a\"\n} ",
    ])
    func `a payload replaces its reference, whether or not it is wrapped in interactiveData`(decoded: String)
        throws
    {
        let message = #"{"id":"m","interactiveDataRef":{"url":"u"},"x":[1.50,"\u0041"],"type":"interactive"}"#
        let text = try #require(try resolved(message, decoded))
        let expected =
            #"{"id":"m","interactiveData":{"bid":"b","URL":"?a"},"x":[1.50,"\u0041"],"type":"interactive"}"#
        #expect(text.replacing(" ", with: "") == expected)
    }

    @Test func `Apple's sample of a reference and its payload resolves to a message of an app`() throws {
        let decoded = try json(
            #"{"interactiveData":{"bid":"some-bid","URL":"url-data","receivedMessage":{"title":"Interaction Title"}}}"#
        )
        let bytes = try #require(resolving(message: sample("unrecognized-reference"), with: decoded))
        let event = InboundEvent.decode(message: try JSONDocument(bytes))
        guard case .app(let app) = event.content else { throw Unexpected(event.kind) }
        #expect(app.url == "url-data")
        #expect(app.interaction.bid == "some-bid")
        #expect(app.interaction.receivedMessage?.title == "Interaction Title")
        #expect(event.message["interactiveDataRef"] == nil)
    }

    @Test func `a resolved form has its inline selections and the other members of its payload`() throws {
        let decoded = try json(
            """
            {"interactiveData": {"bid": "other", "data": {"version": "1.0", "requestIdentifier": "other",
              "dynamic": {"version": "1.2", "selections": [{"pageIdentifier": "001", "multipleSelection": false,
                "title": "old"}, {"pageIdentifier": "002"}], "data": {"startPageIdentifier": "001"}},
              "images": [{"identifier": "1", "data": "AAAA"}],
              "replyMessage": {"title": "Thank you"}}}}
            """)
        let message = try sample("form-reference")
        let bytes = try #require(resolving(message: message, with: decoded))
        let event = InboundEvent.decode(message: try JSONDocument(bytes))
        guard case .form(let form) = event.content else { throw Unexpected(event.kind) }
        #expect(form.selections.count == 1)
        #expect(form.page("001")?.items.map(\.value) == ["option03"])
        #expect(form.page("001")?.title == "Please Choose One Selection To Move On To The Next Page")
        #expect(form.version == "1.1")
        #expect(form.interaction.bid == Interaction.businessExtension)
        #expect(form.interaction.requestIdentifier != "other")
        #expect(form.interaction.replyMessage?.title == "Thank you")
        #expect(form.interaction.images.first?.base64 == "AAAA")
        let dynamic = event.message["interactiveData"]?["data"]?["dynamic"]
        #expect(dynamic?["data"]?["startPageIdentifier"]?.string == "001")
        #expect(dynamic?["selections"]?[0]?["multipleSelection"]?.bool == false)
        #expect(event.message["id"]?.string == message.root["id"]?.string)
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":2}"#, #"{"a":1}"#),
        (
            #"{"a":null,"b":"","c":[],"d":{}}"#, #"{"a":2,"b":"x","c":[1],"d":{"e":1}}"#,
            #"{"a":2,"b":"x","c":[1],"d":{"e":1}}"#
        ),
        (#"{"a":false,"b":0}"#, #"{"a":true,"b":1}"#, #"{"a":false,"b":0}"#),
        (#"{"a":{"b":{"c":1}}}"#, #"{"a":{"b":{"d":2}},"e":3}"#, #"{"a":{"b":{"d":2,"c":1}},"e":3}"#),
        (#"{"a":[1]}"#, #"{"a":[2,3]}"#, #"{"a":[1]}"#),
        (#"{"a":"x"}"#, #"{"a":{"b":1}}"#, #"{"a":"x"}"#),
        (
            #"{"images":[{"identifier":"2","x":1}]}"#,
            #"{"images":[{"identifier":"1"},{"identifier":"2","y":2}]}"#,
            #"{"images":[{"identifier":"2","y":2,"x":1},{"identifier":"1"}]}"#
        ),
        (#"{"a":1,"a":2}"#, #"{"a":3,"b":4,"b":5}"#, #"{"a":2,"b":5}"#),
        ("null", #"{"a":3}"#, #"{"a":3}"#),
    ])
    func `objects are merged member by member, and an inline value that is not empty is used`(
        inline: String, payload: String, expected: String
    ) throws {
        let before = #"{"interactiveData":\#(inline),"v":1,"interactiveDataRef":{}}"#
        #expect(try resolved(before, payload) == #"{"v":1,"interactiveData":\#(expected)}"#)
        let after = #"{"interactiveDataRef":{},"v":1,"interactiveData":\#(inline)}"#
        #expect(try resolved(after, payload) == #"{"interactiveData":\#(expected),"v":1}"#)
    }

    @Test func `in a message without a reference, the payload is appended or merged into interactiveData`()
        throws
    {
        #expect(try resolved(#"{"v":1}"#, #"{"a":1}"#) == #"{"v":1,"interactiveData":{"a":1}}"#)
        #expect(
            try resolved(#"{"interactiveData":{"b":1},"v":1}"#, #"{"a":1}"#)
                == #"{"interactiveData":{"a":1,"b":1},"v":1}"#)
    }

    @Test(arguments: ["[]", "1", "null", #""{}""#])
    func `a payload that is not a JSON object is not resolved`(decoded: String) throws {
        #expect(try resolved(#"{"interactiveDataRef":{}}"#, decoded) == nil)
    }

    private func images(_ count: Int, _ image: (Int) -> String) -> String {
        #"{"images":[\#((0..<count).map(image).joined(separator: ","))]}"#
    }

    @Test func `an image of the payload is merged only into the first inline image with its identifier`()
        throws
    {
        let inline = images(1000) { _ in #"{"identifier":"1","x":1}"# }
        let payload = #"{"images":[{"identifier":"1","data":"\#(String(repeating: "A", count: 1 << 20))"}]}"#
        let message = #"{"interactiveData":\#(inline),"interactiveDataRef":{}}"#
        let result = try #require(try resolved(message, payload))
        #expect(result.utf8.count < message.utf8.count + payload.utf8.count)
        let list = try #require(try json(result).root["interactiveData"]?["images"])
        #expect(list.count == 1000)
        #expect(list[0]?["data"]?.string?.utf8.count == 1 << 20)
        #expect(list[1]?.count == 2)
    }

    @Test
    func
        `of payload images with an inline image's identifier only the first is merged, and all other images are kept`()
        throws
    {
        let result = try resolved(
            #"{"interactiveData":{"images":[{"identifier":"1","x":1}]},"interactiveDataRef":{}}"#,
            #"{"images":[{"identifier":"1","y":1},{"identifier":"1","y":2},{"identifier":"2","y":3},{"identifier":"2"}]}"#
        )
        #expect(
            result
                == #"{"interactiveData":{"images":[{"identifier":"1","y":1,"x":1},{"identifier":"2","y":3},{"identifier":"2"}]}}"#
        )
    }

    @Test(arguments: [
        // More elements than allowed in the message, in its payload, or in both.
        (1001, 3), (3, 1001), (2000, 2000),
    ])
    func `lists with too many elements are written one behind the other instead of merged`(
        inline: Int, payload: Int
    ) throws {
        let message =
            #"{"interactiveData":\#(images(inline) { "{\"identifier\":\"i\($0)\"}" }),"interactiveDataRef":{}}"#
        let decoded = images(payload) { "{\"identifier\":\"i\($0)\",\n\"p\":1}" }
        let result = try #require(try resolved(message, decoded))
        #expect(result.utf8.count <= message.utf8.count + decoded.utf8.count)
        #expect(!result.contains("\n"))
        let document = try json(result)
        #expect(document.root["interactiveData"]?["images"]?.count == inline + payload)
        #expect(InboundEvent.decode(message: document).kind == .unrecognized)
    }

    @Test
    func
        `members of objects with too many members are written one behind the other, and the inline value is used`()
        throws
    {
        let members = (0..<10_001).map { "\"m\($0)\":\"payload\"" }.joined(separator: ",")
        let result = try #require(
            try resolved(#"{"interactiveData":{"m7":"inline"},"interactiveDataRef":{}}"#, "{\(members)}"))
        let merged = try #require(try json(result).root["interactiveData"])
        #expect(merged.count == 10_002)
        #expect(merged["m7"]?.string == "inline")
        #expect(merged["m8"]?.string == "payload")
    }

    @Test func `the result of merging two random objects is never longer than both together`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let (inline, payload) = (object(3, &random), object(3, &random))
            let message = #"{"interactiveData":\#(inline),"interactiveDataRef":{}}"#
            let result = try #require(try resolved(message, payload))
            #expect(result.utf8.count <= message.utf8.count + payload.utf8.count, "\(message) \(payload)")
        }
    }

    /// A random object, with few possible names so that they often repeat, and with lists of such objects.
    private func object(_ depth: Int, _ random: inout SystemRandomNumberGenerator) -> String {
        let members = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            let name = ["a", "b", "images", "identifier"].randomElement(using: &random) ?? "a"
            guard depth > 0 else { return "\"\(name)\":1" }
            if Bool.random(using: &random) { return "\"\(name)\":\(object(depth - 1, &random))" }
            let elements = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                #"{"identifier":"\#(Int.random(in: 0...2, using: &random))","x":\#(object(depth - 1, &random))}"#
            }
            return "\"\(name)\":[\(elements.joined(separator: ","))]"
        }
        return "{\(members.joined(separator: ","))}"
    }
}
