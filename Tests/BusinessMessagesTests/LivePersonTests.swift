import BalloonJSON
import BusinessMessages
import Testing

struct LivePersonTests {
    private let metadata = """
        {"type": "BusinessChatCustomMessage", "appId": 1471612309, "appName": "Parcel Locator",
         "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:EQHXZ8M8AV:com.example.parcels.extension",
         "sessionIdentifier": "7f3120f5-a4d9-4fe3-a93e-737c7f573c8f",
         "URL": "?parcel=7&data={\\"a\\": \\"ü\\"}&x=%20",
         "receivedMessage": {"title": "Where is it?", "subtitle": "s", "secondarySubtitle": "r",
          "tertiarySubtitle": "t", "imageTitle": "i", "imageSubtitle": "j",
          "imageURL": "https://images.example.com/map.png"}}
        """

    private func read(_ text: String, hosts: [String] = ["example.com"]) throws -> LivePersonMessage.Reading {
        LivePersonMessage.read(try json(text).root, imageHosts: hosts)
    }

    @Test func `every field of LivePerson's table is written where Apple reads it`() throws {
        let message = try #require(try read(metadata).message)
        #expect(message.imageURL == "https://images.example.com/map.png")
        let expected = AppRequest(
            teamID: "EQHXZ8M8AV", extensionID: "com.example.parcels.extension",
            app: .init(appID: 1_471_612_309, name: "Parcel Locator"),
            url: "?parcel=7&data=%7B%22a%22:%20%22%C3%BC%22%7D&x=%20",
            received: OutboundBubble(
                "Where is it?", subtitle: "s", imageTitle: "i", imageSubtitle: "j", secondarySubtitle: "r",
                tertiarySubtitle: "t"), sessionIdentifier: "7f3120f5-a4d9-4fe3-a93e-737c7f573c8f",
            usesLiveLayout: false)
        #expect(message.request == expected)
        #expect(OutboundMessage.app(message.request).problems().map(\.rule) == [.appDescription])
    }

    @Test(arguments: ["%", "[%]", #"{"metadata": [%]}"#, #"{"metadata": [{"type": "ExternalId"}, %]}"#])
    func `metadata is found by itself, in a list, and in a list named metadata`(form: String) throws {
        let text = form.replacing("%", with: metadata.replacing("%20", with: ""))
        #expect(try read(text).problems == [])
        #expect(try read(text).message != nil)
    }

    @Test(arguments: ["type", "bid", "URL", "receivedMessage", "receivedMessage/title"])
    func `a missing member that LivePerson's table requires is an error`(name: String) throws {
        let changed = try json(metadata).replacing("/" + name, by: nil)
        let reading = LivePersonMessage.read(changed.root, imageHosts: ["example.com"])
        #expect(reading.message == nil)
        #expect(reading.problems.map(\.rule) == [.required])
        #expect(reading.problems.map(\.pointer) == ["/" + name])
        #expect(reading.problems.allSatisfy { $0.passage.hasPrefix("LivePerson") })
    }

    @Test(arguments: [
        "appId", "appName", "sessionIdentifier", "useLiveLayout", "receivedMessage/subtitle",
        "receivedMessage/imageURL",
    ])
    func `a member that LivePerson's table does not require may be missing`(name: String) throws {
        let changed = try json(metadata).replacing("/" + name, by: nil)
        let reading = LivePersonMessage.read(changed.root, imageHosts: ["example.com"])
        #expect(reading.problems == [])
        #expect(reading.message?.request.usesLiveLayout == false)
    }

    @Test func `metadata of another type than BusinessChatCustomMessage is refused`() throws {
        let reading = try read(metadata.replacing("BusinessChatCustomMessage", with: "BusinessChatMessage"))
        #expect(reading.problems.map(\.rule) == [.livePersonType])
        #expect(reading.message == nil)
    }

    @Test(arguments: [
        ("https://example.com/a.png", true), ("https://EXAMPLE.com:443/a", true),
        ("https://a.b.example.com/", true), ("http://example.com/a.png", false),
        ("https://badexample.com/", false), ("https://example.com.evil.org/", false),
        ("https://example.com@evil.org/", false), ("https://evil.org/?https://example.com", false),
        ("https://evil.org\\\\.example.com/", false), ("data:image/png;base64,AAAA", false),
    ])
    func `an image must come from an allowed host`(url: String, isAllowed: Bool) throws {
        let reading = try read(metadata.replacing("https://images.example.com/map.png", with: url))
        #expect(reading.problems.map(\.rule) == (isAllowed ? [] : [.livePersonImage]))
    }

    @Test func `an image is refused when the caller allows no host`() throws {
        #expect(try read(metadata, hosts: []).problems.map(\.rule) == [.livePersonImage])
    }

    @Test(arguments: ["", "13246"], ["Leave it with the neighbour", "ü & \"=\" %20 + # \n😀", ""])
    func `the text of a reply is the same after writing it to a URL and reading it back`(
        brand: String, text: String
    ) throws {
        let url = LivePersonMessage.replyURL(text, brand: brand)
        #expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") })
        let message = try json(#"{"type":"interactive","interactiveData":{"URL":"\#(url)"}}"#)
        guard case .app(let app) = InboundEvent.decode(message: message).content else {
            throw Unexpected(.app)
        }
        #expect((app.replyText ?? "") == text)
    }

    @Test func `the reply text is read from the sample URL that LivePerson publishes`() throws {
        let url =
            "?data=%7B%0A%20%20%20%20%22lpData%3CBRAND_ID%3E%22%3A%20%7B%0A%20%20%20%20%20%20%22interactive%22%20%3A"
            + "%20%7B%0A%20%20%20%20%20%20%20%20%22response%22%20%3A%20%7B%0A%20%20%20%20%20%20%20%20%20%20%22text"
            + "%22%3A%20%22%3CYOUR_CUSTOM_TEXT%3E%22%20%0A%20%20%20%20%20%20%20%20%7D%0A%20%20%20%20%20%20%7D%0A"
            + "%20%20%20%20%7D%0A%7D"
        let message = try json(#"{"type":"interactive","interactiveData":{"URL":"\#(url)"}}"#)
        guard case .app(let app) = InboundEvent.decode(message: message).content else {
            throw Unexpected(.app)
        }
        #expect(app.replyText == "<YOUR_CUSTOM_TEXT>")
    }

    @Test func `metadata with one changed value is either read or refused with an error`() throws {
        for variant in try variants(of: try json(metadata)) {
            let reading = LivePersonMessage.read(variant.root, imageHosts: ["example.com"])
            #expect((reading.message == nil) == reading.problems.hasErrors)
        }
    }
}
