import BalloonJSON
import HandlerKit
import Testing

struct ConfigurableHandlerTests {
    private struct Shop: TextHandler, ConfigurableHandler {
        struct Configuration: Decodable, Equatable {
            struct Price: Decodable, Equatable {
                var name: String
                var cents: UInt16
            }
            enum Mood: String, Decodable { case kind, gruff }
            var greeting: String
            var prices: [Price] = []
            var mood: Mood?
            var rates: [String: Double]?
            var isOpen: Bool?

            enum CodingKeys: CodingKey { case greeting, prices, mood, rates, isOpen }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                greeting = try container.decode(String.self, forKey: .greeting)
                prices = try container.decodeIfPresent([Price].self, forKey: .prices) ?? []
                mood = try container.decodeIfPresent(Mood.self, forKey: .mood)
                rates = try container.decodeIfPresent([String: Double].self, forKey: .rates)
                isOpen = try container.decodeIfPresent(Bool.self, forKey: .isOpen)
            }
        }
        let configuration: Configuration
        init(configuration: Configuration) { self.configuration = configuration }
        func text(_ text: Text, _ context: Context) -> Outcome { .reply(configuration.greeting) }
    }

    private func make(_ json: String?) throws -> Shop {
        let made = try HandlerMaker<Shop>("shop").make(
            configuration: try json.map { try JSONDocument(Array($0.utf8)).root })
        return try #require(made as? Shop)
    }

    @Test func `a handler receives its configuration as typed values`() throws {
        let configuration = try make(
            #"{"greeting":"Hi","prices":[{"name":"Rye","cents":350}],"mood":"kind","rates":{"EUR":1.5},"isOpen":true}"#
        ).configuration
        #expect(configuration.greeting == "Hi")
        #expect(configuration.prices == [.init(name: "Rye", cents: 350)])
        #expect(configuration.mood == .kind)
        #expect(configuration.rates == ["EUR": 1.5])
        #expect(configuration.isOpen == true)
        #expect(try make(#"{"greeting":"Hi","mood":null}"#).configuration.mood == nil)
    }

    private static let mistakes: [(String?, String)] = [
        (nil, "\"greeting\" is missing"), (#"{"greeting":1}"#, "/greeting: is not a text"),
        (
            #"{"greeting":"Hi","prices":[{"name":"Rye","cents":70000}]}"#,
            "/prices/0/cents: is not a whole number that fits UInt16"
        ),
        (#"{"greeting":"Hi","prices":[{"cents":1}]}"#, "/prices/0: \"name\" is missing"),
        (#"{"greeting":"Hi","prices":{}}"#, "/prices: is not a list"), ("[]", "is not an object"),
        (#"{"greeting":"Hi","isOpen":1}"#, "/isOpen: is not true or false"),
        (#"{"greeting":"Hi","rates":{"EUR":"1"}}"#, "/rates/EUR: is not a number"),
    ]

    @Test(arguments: mistakes)
    func `an error in a handler's configuration names its place`(_ json: String?, _ description: String) {
        let error = #expect(throws: HandlerConfigurationError.self) { try make(json) }
        #expect(error?.description == description)
    }

    @Test func `a configuration value that its type refuses is reported with its place`() {
        let error = #expect(throws: HandlerConfigurationError.self) {
            try make(#"{"greeting":"Hi","mood":"grim"}"#)
        }
        #expect(error?.pointer == "/mood")
    }
}
