import BalloonJSON
import Testing

/// The grammar of RFC 8259.
struct JSONGrammarTests {
    @Test(arguments: [
        "0", "-0", "1", "-12", "10", "1.5", "-0.25", "0e0", "1E5", "1e+5", "1e-5", "1.0e10",
        "123456789012345678901",
        "1e400", "true", "false", "null", #""""#, #""a""#, " \t\r\n1 \t\r\n", "[]", "[ ]", "{}", "{\n}",
        "[1]",
        "[1,2]", "[ 1 , 2 ]", "[[],{}]", #"{"a":1}"#, #"{ "a" : 1 , "b" : [ ] }"#, #"{"":{"":{"":0}}}"#,
        #"{"a":1,"a":2}"#, #""\"\\\/\b\f\n\r\t""#, #""\u0000\u00e9\uD83D\uDE00""#, #""\ud800""#,
        #""\uDC00\uD800""#,
        "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}\"", "\"\u{2028}\u{FEFF}\"",
        "[1,\"eight or more plain characters\",true]",
    ])
    func `text that the JSON grammar allows is accepted`(text: String) throws {
        #expect(try Array(parse(text).root.text).count <= text.utf8.count)
    }

    @Test(arguments: [
        "", " ", "\n\t", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1 2]", "[1}", #"{"a":1]"#,
        "{,}",
        #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, #"{"a":1 "b":2}"#, #"{"a" 1}"#, #"{:1}"#, "{1:1}",
        "{a:1}",
        "{'a':1}", #"{"a":1,,"b":2}"#, #"{"a"::1}"#, "[:]", "[1:2]", "[]]", "{}}", "1 2", "[] []", "nul",
        "nulll",
        "True", "TRUE", "tru", "truE", "fals", "NaN", "Infinity", "-Infinity", "undefined", "+1", "-", "--1",
        "- 1",
        "01", "-01", "00", "1.", ".5", "-.5", "1.e5", "1e", "1e+", "1e-", "1e5.5", "1ee5", "0x10", "1_000",
        "1.2.3",
        "0 1", "1a", "\u{0C}1", "\u{A0}1", "1\u{85}", "\u{0}", "1\u{0}", "// c\n1", "/**/1", "#", "\"", "\"a",
        "'a'", "\"\\", "\"\\\"", #""\a""#, #""\'""#, #""\x41""#, #""\U0041""#, #""\u""#, #""\u00""#,
        #""\u00g0""#,
        #""\u 123""#, #""\u+123""#, "\"\\\u{e9}\"", "\"\t\"", "\"\n\"", "\"a\u{0}b\"", "\"12345678\u{1F}\"",
        "\u{FEFF}1", "[\u{FEFF}1]", "[\"a\u{0}\"]", "*", "&", "\\", "[\\n]", "<null>",
    ])
    func `text that the JSON grammar forbids is refused`(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }
}

func parse(_ text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSONDocument {
    try JSONDocument(Array(text.utf8), limits: limits)
}
