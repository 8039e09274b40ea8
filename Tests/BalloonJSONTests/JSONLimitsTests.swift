import Testing

@testable import BalloonJSON

/// Tests each limit with a text of exactly the limit, and with one that exceeds it by one.
struct JSONLimitsTests {
    @Test func `nested containers are accepted up to the limit of their depth`() throws {
        let limits = JSONLimits(maximumDepth: 5)
        for (opening, closing) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
            let levels = opening.hasPrefix("[{") ? 2 : 1
            let fits = 5 / levels
            let inner = levels * fits == 5 ? "1" : "[]"
            let text =
                String(repeating: opening, count: fits) + inner + String(repeating: closing, count: fits)
            _ = try parse(text, limits: limits)
            let offset = opening.utf8.count * fits
            let deeper = text.replacing(inner, with: "[\(inner)]")
            #expect(throws: JSONError.tooDeep(maximum: 5, offset: offset + levels - 1)) {
                try parse(deeper, limits: limits)
            }
        }
        _ = try parse("1", limits: JSONLimits(maximumDepth: 0))
        #expect(throws: JSONError.tooDeep(maximum: 0, offset: 0)) {
            try parse("[]", limits: JSONLimits(maximumDepth: 0))
        }
    }

    @Test func `siblings do not increase the nesting depth`() throws {
        let text = "[" + String(repeating: "[],{},[1],", count: 1000) + "0]"
        #expect(try parse(text, limits: JSONLimits(maximumDepth: 2)).root.count == 3001)
    }

    @Test(arguments: ["[", #"{"a":"#, #"[{"a":"#, "[0,"])
    func `a hundred thousand open containers are refused at the limit`(opening: String) {
        let text = String(repeating: opening, count: 100_000)
        let error = #expect(throws: JSONError.self) { try parse(text) }
        guard case .tooDeep(maximum: 128, let offset) = error else {
            Issue.record("refused as \(String(describing: error))")
            return
        }
        #expect(offset <= 128 * opening.utf8.count)
    }

    @Test func `a hundred thousand levels are indexed and walked when the limit allows them`() throws {
        let depth = 100_000
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let document = try parse(text, limits: JSONLimits(maximumDepth: depth))
        var value: JSONValue? = document.root
        var levels = 0
        while let inner = value {
            levels += 1
            value = inner[0]
        }
        #expect(levels == depth)
        #expect(throws: JSONError.tooDeep(maximum: depth - 1, offset: depth - 1)) {
            try parse(text, limits: JSONLimits(maximumDepth: depth - 1))
        }
    }

    @Test func `a text is accepted up to the limit of its length`() throws {
        _ = try parse("[1, 2]", limits: JSONLimits(maximumBytes: 6))
        #expect(throws: JSONError.tooLong(maximum: 5, offset: 5)) {
            try parse("[1, 2]", limits: JSONLimits(maximumBytes: 5))
        }
    }

    @Test func `values are accepted up to the limit, and names are not counted`() throws {
        let text = #"{"a":[1,{"b":true}],"c":""}"#
        _ = try parse(text, limits: JSONLimits(maximumNodes: 6))
        #expect(throws: JSONError.tooManyNodes(maximum: 5, offset: 24)) {
            try parse(text, limits: JSONLimits(maximumNodes: 5))
        }
    }

    @Test(arguments: ["{},", "0,", #"{"":{}},"#, #""a text of some length","#])
    func `the index of a large and dense text has little unused capacity`(element: String) throws {
        let text = Array(("[" + String(repeating: element, count: 200_000) + "0]").utf8)
        var words: [UInt64] = []
        let used = try indexJSON(text.span, limits: JSONLimits(), into: &words)
        #expect(words.capacity <= max(used * 9 / 8, text.count / 8) + 64)
    }

    @Test func `a text with most of its values near the end is indexed`() throws {
        let sparse = "\"" + String(repeating: "a", count: 50_000) + "\""
        let text = "[\(sparse)" + String(repeating: ",{}", count: 50_000) + "]"
        #expect(try parse(text).root.count == 50_001)
    }

    @Test func `the first container with too many elements or members is found, even the root`() throws {
        let root = try parse(#"{"a":[[1,2],{"b":1,"c":2,"d":3}],"e":[1,2,3]}"#).root
        #expect(root.firstContainer(exceedingElements: 3, members: 3) == nil)
        #expect(root.firstContainer(exceedingElements: 2, members: 3)?.pointer == "/e")
        #expect(root.firstContainer(exceedingElements: 1, members: 3)?.pointer == "/a")
        #expect(root.firstContainer(exceedingElements: 2, members: 2)?.pointer == "/a/1")
        #expect(root.firstContainer(exceedingElements: 0, members: 0)?.pointer.isEmpty == true)
        #expect(root["a"]?[0]?.firstContainer(exceedingElements: 2, members: 0) == nil)
        #expect(root["a"]?[0]?[0]?.firstContainer(exceedingElements: 0, members: 0) == nil)
    }
}
