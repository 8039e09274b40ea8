import BalloonJSON
import RetentionMessages
import Testing

private func value(_ text: String) throws -> JSONValue { try JSONDocument(Array(text.utf8)).root }

private let id = "a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890"

/// A PNG file without pixels; `before` are chunks in front of the place of the pixels.
private func png(width: Int, height: Int, colourType: UInt8 = 2, before: [UInt8] = []) -> [UInt8] {
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    let header = number(width) + number(height) + [8, colourType, 0, 0, 0]
    return signature + chunk("IHDR", header) + before + chunk("IDAT", [])
}

private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    number(content.count) + Array(type.utf8) + content + [0, 0, 0, 0]
}

private func number(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
}

@Suite struct ContentTests {
    @Test func `a message with every member is read and written as it was`() throws {
        let text = #"""
            {"header":"Header","body":"Body","image":{"imageIdentifier":"ID","altText":"Alt"},"headerPosition":"ABOVE_IMAGE","bulletPoints":[{"text":"Point","imageIdentifier":"ID","altText":"Alt"}]}
            """#.replacing("ID\"", with: id + "\"")
        let (message, problems) = try RetentionMessage.read(value(text))
        #expect(problems.isEmpty)
        #expect(message.map { String(decoding: $0.json, as: UTF8.self) } == text)
        #expect(message?.isPlain == false)
        #expect(message?.images.map(\.text) == [id])
    }

    private struct Limit: Sendable {
        let rule: RetentionRule
        let maximum: Int
        let pointer: String
        let message: @Sendable (String) -> String
    }

    private static let limits: [Limit] = [
        Limit(rule: .headerLength, maximum: 66, pointer: "/header") { #"{"header":"\#($0)","body":"b"}"# },
        Limit(rule: .bodyLength, maximum: 144, pointer: "/body") { #"{"header":"h","body":"\#($0)"}"# },
        Limit(rule: .alternativeTextLength, maximum: 150, pointer: "/image/altText") {
            #"{"header":"h","body":"b","image":{"imageIdentifier":"\#(id)","altText":"\#($0)"}}"#
        },
        Limit(rule: .bulletTextLength, maximum: 66, pointer: "/bulletPoints/0/text") {
            #"{"header":"h","body":"b","bulletPoints":[{"text":"\#($0)","imageIdentifier":"\#(id)","altText":"a"}]}"#
        },
        Limit(rule: .alternativeTextLength, maximum: 150, pointer: "/bulletPoints/0/altText") {
            #"{"header":"h","body":"b","bulletPoints":[{"text":"t","imageIdentifier":"\#(id)","altText":"\#($0)"}]}"#
        },
    ]

    @Test func `each length is allowed at its limit and an error above it`() throws {
        for limit in Self.limits {
            let allowed = limit.message(String(repeating: "a", count: limit.maximum))
            #expect(try RetentionMessage.read(value(allowed)).problems.isEmpty, "\(limit.pointer)")
            let long = limit.message(String(repeating: "a", count: limit.maximum + 1))
            let problems = try RetentionMessage.read(value(long)).problems
            #expect(problems.map(\.rule) == [limit.rule], "\(limit.pointer)")
            #expect(problems.map(\.severity) == [.error])
            #expect(problems.map(\.pointer) == [limit.pointer])
        }
    }

    @Test func `code points decide, and more UTF-16 units or bytes are a warning`() throws {
        for limit in Self.limits {
            for character in ["é", "🎈"] {
                let allowed = limit.message(String(repeating: character, count: limit.maximum))
                let problems = try RetentionMessage.read(value(allowed)).problems
                #expect(problems.map(\.severity) == [.warning], "\(limit.pointer) \(character)")
                let long = limit.message(String(repeating: character, count: limit.maximum + 1))
                #expect(try RetentionMessage.read(value(long)).problems.map(\.severity) == [.error])
            }
        }
    }

    private static let broken: [(text: String, rule: RetentionRule, pointer: String)] = [
        ("[]", .form, ""),
        (#"{"body":"b"}"#, .missing, "/header"),
        (#"{"header":"","body":"b"}"#, .form, "/header"),
        (#"{"header":1,"body":"b"}"#, .form, "/header"),
        (#"{"header":"h","body":"b","Body":"c"}"#, .unknown, "/Body"),
        (#"{"header":"h","body":"b","headerPosition":"LEFT"}"#, .form, "/headerPosition"),
        (#"{"header":"h","body":"b","headerPosition":"ABOVE_IMAGE"}"#, .headerAboveImage, "/headerPosition"),
        (#"{"header":"h","body":"b","image":{"altText":"a"}}"#, .missing, "/image/imageIdentifier"),
        (
            #"{"header":"h","body":"b","image":{"imageIdentifier":"1","altText":"a"}}"#, .reference,
            "/image/imageIdentifier"
        ),
        (#"{"header":"h","body":"b","bulletPoints":{}}"#, .form, "/bulletPoints"),
        (#"{"header":"h","body":"b","bulletPoints":[1]}"#, .form, "/bulletPoints/0"),
        (#"{"header":"h","body":"b","bulletPoints":[1,1,1,1,1,1]}"#, .bulletPointCount, "/bulletPoints"),
    ]

    @Test func `each broken rule is reported at its place`() throws {
        for (text, rule, pointer) in Self.broken {
            let problems = try RetentionMessage.read(value(text)).problems
            #expect(problems.map(\.rule) == [rule], "\(text)")
            #expect(problems.map(\.pointer) == [pointer], "\(text)")
            #expect(problems.allSatisfy { "\($0)".contains($0.rule.passage) })
        }
    }

    @Test func `five bullet points are allowed`() throws {
        let point = #"{"text":"t","imageIdentifier":"ID","altText":"a"}"#.replacing("ID", with: id)
        let points = [String](repeating: point, count: 5).joined(separator: ",")
        let read = try RetentionMessage.read(value(#"{"header":"h","body":"b","bulletPoints":[\#(points)]}"#))
        #expect(read.problems.isEmpty)
        #expect(read.message?.bulletPoints.count == 5)
    }

    @Test func `images have one of two sizes and no transparency`() throws {
        let allowed: [(width: Int, height: Int, size: RetentionImageSize)] = [
            (3840, 160, .full), (3840, 2160, .full), (1024, 1024, .bulletPoint),
        ]
        for (width, height, size) in allowed {
            let bytes = png(width: width, height: height)
            #expect(RetentionImage.problems(in: bytes).isEmpty)
            #expect(RetentionImage(png: bytes)?.size == size)
        }
        for (width, height) in [(3840, 159), (3840, 2161), (3839, 160), (1024, 1023), (1, 1)] {
            let problems = RetentionImage.problems(in: png(width: width, height: height))
            #expect(problems.map(\.rule) == [.imageSize], "\(width) × \(height)")
        }
        let palette = png(width: 3840, height: 160, colourType: 3, before: chunk("tRNS", [0]))
        let transparent = [
            png(width: 3840, height: 160, colourType: 4), png(width: 3840, height: 160, colourType: 6),
            palette,
        ]
        for bytes in transparent {
            #expect(RetentionImage.problems(in: bytes).map(\.rule) == [.imageTransparency])
        }
    }

    @Test func `a file that is no PNG is refused at every length`() throws {
        let bytes = png(width: 3840, height: 160, before: chunk("gAMA", [0, 0, 0, 1]))
        for count in 0..<bytes.count {
            #expect(RetentionImage(png: Array(bytes.prefix(count))) == nil)
        }
        var endless = bytes
        endless.replaceSubrange(33..<37, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(RetentionImage.problems(in: endless).map(\.rule) == [.imageFormat])
    }

    @Test func `identifiers, locales, products and addresses have their forms`() {
        #expect(RetentionID(id.uppercased()) == RetentionID(id))
        #expect(
            RetentionID(hash: [UInt8](repeating: 0xFF, count: 16))?.text
                == "ffffffff-ffff-8fff-bfff-ffffffffffff")
        #expect(RetentionID(hash: [1]) == nil)
        for text in ["", id + "0", String(id.dropLast()), id.replacing("-", with: "0"), "é" + id.dropFirst()]
        {
            #expect(RetentionID(text) == nil, "\(text)")
        }
        for text in ["en", "en-US", "zh-Hans", "es-419", "yue", "zh-Hans-CN"] {
            #expect(StoreLocale(text)?.code == text)
        }
        for text in [
            "", "e", "en_US", "EN-US", "en-us", "en-", "-US", "en-USA", "zh-hans", "a-b-c-d", "en-US-x",
        ] {
            #expect(StoreLocale(text) == nil, "\(text)")
        }
        #expect(ProductID(String(repeating: "a", count: 255)) != nil)
        for text in ["", "a b", "a/b", "é", String(repeating: "a", count: 256)] {
            #expect(ProductID(text) == nil, "\(text)")
        }
        let host = "https://example.com/"
        let longest = host + String(repeating: "a", count: 256 - host.count)
        #expect(RealtimeURL(longest)?.text == longest)
        for text in [
            longest + "a", "http://example.com/", "https://", "https:///a", "https://a@b/", "https://a/ ",
            "https://a/#b",
        ] {
            #expect(RealtimeURL(text) == nil, "\(text)")
        }
        #expect(RetentionEnvironment(name: "sandbox") == .sandbox)
        #expect(RetentionEnvironment(rawValue: "Xcode") == nil)
        #expect(RetentionEnvironment(rawValue: "LocalTesting") == nil)
    }

    @Test func `default messages are read with their places`() throws {
        let read = try DefaultMessages.read(value(#"{"p.b":{"en-US":"x"},"p.a":{"de-DE":"y","de":"z"}}"#))
        #expect(read.problems.isEmpty)
        #expect(
            read.defaults?.keys.map { "\($0.product) \($0.locale)" } == ["p.a de", "p.a de-DE", "p.b en-US"])
        let broken: [(text: String, rule: RetentionRule)] = [
            ("[]", .form), (#"{"p q":{}}"#, .product), (#"{"p":1}"#, .form),
            (#"{"p":{"en_US":"x"}}"#, .locale),
            (#"{"p":{"en":""}}"#, .form), (#"{"p":{"en":"x","en":"y"}}"#, .unknown),
        ]
        for (text, rule) in broken {
            #expect(try DefaultMessages.read(value(text)).problems.map(\.rule) == [rule], "\(text)")
            #expect(try DefaultMessages.read(value(text)).defaults == nil)
        }
    }
}
