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
    func `either wrapper takes the reference's place`(decoded: String) throws {
        let message = #"{"id":"m","interactiveDataRef":{"url":"u"},"x":[1.50,"\u0041"],"type":"interactive"}"#
        let text = try #require(try resolved(message, decoded))
        let expected =
            #"{"id":"m","interactiveData":{"bid":"b","URL":"?a"},"x":[1.50,"\u0041"],"type":"interactive"}"#
        #expect(text.replacing(" ", with: "") == expected)
    }

    @Test func `the seed's samples resolve to an app's bubble`() throws {
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

    @Test func `a form's inline selections and its referenced display are both kept`() throws {
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
    func `inline data wins, member by member`(inline: String, payload: String, expected: String) throws {
        let before = #"{"interactiveData":\#(inline),"v":1,"interactiveDataRef":{}}"#
        #expect(try resolved(before, payload) == #"{"v":1,"interactiveData":\#(expected)}"#)
        let after = #"{"interactiveDataRef":{},"v":1,"interactiveData":\#(inline)}"#
        #expect(try resolved(after, payload) == #"{"interactiveData":\#(expected),"v":1}"#)
    }

    @Test func `a message without a reference is given the data at its end, or merged where it stands`()
        throws
    {
        #expect(try resolved(#"{"v":1}"#, #"{"a":1}"#) == #"{"v":1,"interactiveData":{"a":1}}"#)
        #expect(
            try resolved(#"{"interactiveData":{"b":1},"v":1}"#, #"{"a":1}"#)
                == #"{"interactiveData":{"a":1,"b":1},"v":1}"#)
    }

    @Test(arguments: ["[]", "1", "null", #""{}""#])
    func `an answer that is not an object resolves nothing`(decoded: String) throws {
        #expect(try resolved(#"{"interactiveDataRef":{}}"#, decoded) == nil)
    }
}
