import BalloonJSON
import Testing

/// The properties of a value and its children.
struct JSONValueTests {
    @Test func `a text and the names of members are read as bytes, with their escapes resolved`() throws {
        let root = try parse(#"{"a\u00e9":"x\ny","b":"z","c":1}"#).root
        var names: [[UInt8]] = []
        var members = root.members
        while let (name, _) = members.nextWithBytes() { names.append(Array(name)) }
        #expect(names == ["aé", "b", "c"].map { Array($0.utf8) })
        #expect(root["aé"]?.textBytes.map { Array($0) } == Array("x\ny".utf8))
        #expect(root["c"]?.textBytes == nil)
        #expect(root["aé"]?.equals("x\ny") == true && root["aé"]?.equals("x") == false)
    }

    @Test(arguments: [("1", 1), ("[]", 1), (#"{"a":[1,{"b":2}],"c":null}"#, 6), ("[[],[[1]]]", 5)])
    func `the values of a text are counted at every depth`(text: String, count: Int) throws {
        #expect(try parse(text).root.valueCount == count)
        #expect(throws: Never.self) {
            try JSONDocument(Array(text.utf8), limits: JSONLimits(maximumNodes: count))
        }
        #expect(throws: JSONError.self) {
            try JSONDocument(Array(text.utf8), limits: JSONLimits(maximumNodes: count - 1))
        }
    }

    @Test(arguments: [
        ("{}", JSONValue.Kind.object), ("[]", .array), (#""a""#, .string), (#""\n""#, .string),
        ("1", .number),
        ("1.5", .number), ("true", .boolean), ("false", .boolean), ("null", .null),
    ])
    func `every kind of JSON value is distinguished`(text: String, kind: JSONValue.Kind) throws {
        #expect(try parse(text).root.kind == kind)
    }

    @Test func `a property for another kind is nil or empty`() throws {
        for text in ["null", "true", "1", #""a""#, "[1]", #"{"a":1}"#] {
            let value = try parse(text).root
            #expect((value.string != nil) == (value.kind == .string))
            #expect((value.stringBytes != nil) == (value.kind == .string))
            #expect(value.equals("a") == (value.kind == .string))
            #expect((value.int != nil) == (value.kind == .number))
            #expect((value.double != nil) == (value.kind == .number))
            #expect((value.bool != nil) == (value.kind == .boolean))
            #expect(value.isNull == (value.kind == .null))
            #expect((value["a"] != nil) == (value.kind == .object))
            #expect((value[0] != nil) == (value.kind == .array))
            #expect(Array(value.members).count == (value.kind == .object ? 1 : 0))
            #expect(Array(value.elements).count == (value.kind == .array ? 1 : 0))
            #expect(value.count == (value.kind == .object || value.kind == .array ? 1 : 0))
        }
    }

    @Test func `members and elements are in text order`() throws {
        let root = try parse(#"{"b":[1,[2,{"x":3}],4],"a":{"c":{}},"d":null}"#).root
        #expect(root.count == 3)
        #expect(root.members.map(\.key) == ["b", "a", "d"])
        #expect(
            root.members.map { String(decoding: $0.value.text, as: UTF8.self) } == [
                #"[1,[2,{"x":3}],4]"#, #"{"c":{}}"#, "null",
            ])
        let array = try #require(root["b"])
        #expect(array.elements.map(\.int) == [1, nil, 4])
        #expect(array[1]?[1]?["x"]?.int == 3)
        #expect(array[2]?.int == 4)
        #expect(array[3] == nil)
        #expect(array[-1] == nil)
        #expect(root["a"]?["c"]?.count == 0)
    }

    @Test func `of several members with the same name, the last one is found`() throws {
        let root = try parse(#"{"a":1,"b":{"a":9},"\u0061":2,"c":3}"#).root
        #expect(root["a"]?.int == 2)
        #expect(root.members.map(\.key) == ["a", "b", "a", "c"])
    }

    @Test func `member names are equal only when their bytes are equal`() throws {
        // The two names are the same character, composed and decomposed: equal as Swift strings, but
        // different names in JSON.
        let root = try parse("{\"e\u{301}\":1,\"\u{e9}\":2}").root
        #expect(root["e\u{301}"]?.int == 1)
        #expect(root["\u{e9}"]?.int == 2)
    }
}
