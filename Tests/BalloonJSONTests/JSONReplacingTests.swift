import BalloonJSON
import Testing

/// Replacing members of an object in its text.
struct JSONReplacingTests {
    @Test(arguments: [
        (#"{ "a" : 1 , "b":[ 2 ],"c":"x" }"#, ["b": "null"], #"{ "a" : 1 , "b":null,"c":"x" }"#),
        (#"{"a":1,"b":2}"#, ["a": "[9]", "b": "{}"], #"{"a":[9],"b":{}}"#),
        (#"{"a":1}"#, ["z": "2", "é": "4", "y\"": "3"], #"{"a":1,"y\"":3,"z":2,"é":4}"#),
        ("{}", ["b": "2", "a": "1"], #"{"a":1,"b":2}"#),
        ("{\n}", ["a": "1"], "{\n\"a\":1}"),
        (#"{"a":1,"\u0061":2,"b":{"a":3}}"#, ["a": "0"], #"{"a":0,"\u0061":0,"b":{"a":3}}"#),
        (#"{"a":1}"#, [:], #"{"a":1}"#),
        ("[1, 2]", ["a": "1"], "[1, 2]"),
    ])
    func `only the named members of an object are replaced`(
        text: String, members: [String: String], result: String
    ) throws {
        let value = try parse(text).root
        #expect(
            String(decoding: value.replacing(members: members.mapValues { Array($0.utf8) }), as: UTF8.self)
                == result)
    }

    @Test func `replacing a member of a nested object returns only that object`() throws {
        let value = try #require(try parse(#"[0, {"a": {"b": 1}}, 2]"#).root[1]?["a"])
        #expect(value.replacing(members: ["b": Array("5".utf8)]) == Array(#"{"b": 5}"#.utf8))
    }
}
