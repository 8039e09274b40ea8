import BalloonJSON
import Testing

/// The positions of values, for configuration errors.
struct JSONPositionTests {
    @Test func `a value's position is the line and column of its first byte`() throws {
        let root = try parse(" {\n\t\"é\": [1,\r\n \"😀\", true ]\n}").root
        #expect(root.position == (1, 2))
        let array = try #require(root["é"])
        #expect(array.position == (2, 7))
        #expect(
            array.elements.map { "\($0.position)" }
                == ["(2, 8)", "(3, 2)", "(3, 7)"].map {
                    $0.replacing("(", with: "(line: ").replacing(", ", with: ", column: ")
                })
    }

    @Test func `one scan finds the positions of many offsets, in ascending order`() throws {
        let root = try parse("[1,\n \"é\",\n2,{\"a\":[3]}]").root
        let values = root.elements.map(\.self) + [try #require(root[3]?["a"]?[0])]
        let positions = root.positions(ofOffsets: values.map(\.offset))
        #expect(
            positions.map { [$0.line, $0.column] } == values.map { [$0.position.line, $0.position.column] })
        #expect(root.positions(ofOffsets: []).isEmpty)
    }

    @Test func `a long name in a JSON Pointer is shortened, between two characters`() throws {
        let name = String(repeating: "é", count: 101)
        let root = try parse(
            #"{"\#(name)":[1],"\#(name.dropLast())":2,"a":{"\#(String(repeating: #"\u00e9"#, count: 101))":3}}"#
        ).root
        let short = String(repeating: "é", count: 100)
        #expect(root[name]?[0]?.pointer == "/\(short)…/0")
        #expect(root[short]?.pointer == "/\(short)")
        #expect(root["a"]?[name]?.pointer == "/a/\(short)…")
    }

    @Test func `a value's JSON Pointer leads from the root to the value`() throws {
        // The example of RFC 6901 §5, and cases that the RFC omits.
        let root = try parse(
            #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"k\"l":6," ":7,"m~n":8,"x":[[],[{"y":[3]}]],"~1":9}"#
        ).root
        #expect(root.pointer.isEmpty)
        #expect(
            root.members.map(\.value.pointer) == [
                "/foo", "/", "/a~1b", "/c%d", "/k\"l", "/ ", "/m~0n", "/x", "/~01",
            ])
        #expect(root["foo"]?[1]?.pointer == "/foo/1")
        #expect(root["x"]?[1]?[0]?["y"]?[0]?.pointer == "/x/1/0/y/0")
    }
}
