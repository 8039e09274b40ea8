import BusinessMessages
import TestSupport
import Testing

struct RegularExpressionTests {
    @Test(arguments: [
        (#"^\d{1,5}$"#, "123", true), (#"^\d{1,5}$"#, "123456", false), (#"^\d*\.?\d?\d?$"#, "12.34", true),
        (#"^\d*\.?\d?\d?$"#, "12.345", false), (#"^\d+\.\d\d$"#, "1.50", true), ("a|b|", "", true),
        ("abc", "abcd", false), ("(?i)straße", "STRAßE", true), ("(?i:a)b", "Ab", true),
        ("(?i:a)b", "AB", false), ("((?i)a)b", "AB", false),
        (#"(?=.*\d)(?=.*[A-Z]).{8,}"#, "abcdEf12", true), (#"(?=.*\d)(?=.*[A-Z]).{8,}"#, "abcdef12", false),
        ("(?!a)[a-z]+", "ab", false), ("(?!a)[a-z]+", "ba", true), ("a(?<=a)b", "ab", true),
        ("(?<!a)b", "b", true), ("[a-z&&[^aeiou]]+", "bcd", true), ("[a-z&&[^aeiou]]+", "bad", false),
        (#"[\w--\d]+"#, "ab", true), (#"[\w--\d]+"#, "a1", false), ("[[:alpha:]-]+", "a-b", true),
        ("[]a-]+", "]-a", true), (#"\p{Lu}\p{L}*"#, "Öl", true), (#"\P{L}"#, "a", false),
        (#"\u{1F600}"#, "😀", true), (#"\x41\u0042\Q(*\E"#, "AB(*", true), ("a{2,3}?", "aaa", true),
        ("a{,2}", "aaa", false), ("{x}", "{x}", true), (#"\bfoo\b"#, "foo", true), ("(?s)a.b", "a\nb", true),
        ("a.b", "a\nb", false), ("(?m)a$\n^b", "a\nb", true), ("(?x) a b # c", "ab", true),
        ("(?<n>a)(?P<m>b)(?:c)(?#d)", "abc", true), (#"[^@\s]+@[^@\s]+\.[^@\s]+"#, "joe@example.com", true),
        (#"[^@\s]+@[^@\s]+\.[^@\s]+"#, "joe@example", false), ("(a{1000}){1000}", "a", false),
    ])
    func `a text is compared with the whole expression`(expression: String, text: String, isMatch: Bool)
        throws
    {
        let parsed = try #require(RegularExpression(expression))
        #expect(parsed.matchesWhole(text) == (isMatch ? .found : .absent))
    }

    @Test func `a part of a text is found`() throws {
        #expect(try #require(RegularExpression("^A")).occurs(in: "Ab") == .found)
        #expect(try #require(RegularExpression("^A")).occurs(in: "bA") == .absent)
        #expect(try #require(RegularExpression("b+c")).occurs(in: "abbbcd") == .found)
    }

    @Test(arguments: [
        #"(\d"#, ")", "*a", "a**", "[", "[a", "[^", "[z-a]", "[a&&", #"\"#, "(?", "(?i", "(?y)", "(?<>a)",
        "(?<a",
        #"\p{"#, #"\p{}"#, #"\x4"#, #"\u{110000}"#, #"\uD800"#, #"\y"#, "a{3,2}", "a{99999999999}", #"\k<a"#,
        "(?=a", "[[:alpha:", #"\c"#,
    ])
    func `an invalid expression is refused`(expression: String) {
        #expect(RegularExpression(expression) == nil)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: ["[", "(", "(?:", "(?=", "(?<!", "[a&&[", "(?i:", "a|(", "([", "(?<n>"])
    func `deep nesting is refused, however long the expression is`(opening: String) {
        let closing = String(opening.reversed().compactMap { ["(": ")", "[": "]"][$0] })
        for count in [RegularExpression.maximumDepth + 1, 400, 5000, 100_000] {
            let nested =
                String(repeating: opening, count: count) + "a" + String(repeating: closing, count: count)
            #expect(RegularExpression(nested) == nil)
            #expect(RegularExpression(String(repeating: opening, count: count)) == nil)
        }
        let allowed = RegularExpression.maximumDepth / 2 - 1
        let nested =
            String(repeating: opening, count: allowed) + "a" + String(repeating: closing, count: allowed)
        #expect(RegularExpression(nested) != nil)
    }

    @Test(arguments: ["&&a", "--b", "&&[a]", "&&ab", "&&[a]b"])
    func `operators nest the sets of a class, and too many are refused`(operation: String) throws {
        func chain(_ count: Int) -> String { "[a" + String(repeating: operation, count: count) + "]" }
        let allowed = RegularExpression.maximumDepth
        #expect(RegularExpression(chain(allowed)) != nil)
        // The operators of one class do not count in the next.
        let classes = String(repeating: chain(allowed), count: 3)
        #expect(try #require(RegularExpression(classes)).matchesWhole("aaa") == .found)
        for count in [allowed + 1, 400, 600] { #expect(RegularExpression(chain(count)) == nil) }
        // A class that has ended still nests in the operators after it.
        let inner = String(repeating: operation, count: 20)
        #expect(RegularExpression("[[a\(inner)]\(inner)]") == nil)
    }

    @Test func `a look behind costs as much as the text is long`() throws {
        let text = String(repeating: "a", count: RegularExpression.maximumScalars)
        func match(_ count: Int) throws -> RegularExpression.Match {
            try #require(RegularExpression(String(repeating: "(?<=)", count: count))).occurs(in: text)
        }
        #expect(try match(10) == .found)
        #expect(try match(400) == .undecided)
    }

    @Test func `the length of an expression is limited`() {
        let longest = String(repeating: "a", count: RegularExpression.maximumBytes)
        #expect(RegularExpression(longest) != nil)
        #expect(RegularExpression(longest + "a") == nil)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("(a+)+$", 5000), ("^(a|aa)+$", 5000), ("(.*)*x", 5000), ("((((a*)*)*)*)*b", 500),
            ("(a|a|a|a)*b", 5000), ("(x+x+)+y", 500), ("(?=(a+)+b)a*", 500),
            (String(repeating: "a?", count: 1000), 2000), ("((a{1000}){1000}){1000}", 3000),
            (String(repeating: "(?=.*b)", count: 250), 2000), ("([a-z]|[^0-9])*[A-Z]", 5000),
        ])
    func `an expression that backtracks exponentially elsewhere ends in time`(expression: String, count: Int)
        throws
    {
        let parsed = try #require(RegularExpression(expression))
        _ = parsed.matchesWhole(String(repeating: "a", count: count) + "!")
        #expect(parsed.matchesWhole("!") == .absent)
    }

    @Test(arguments: [#"(a)\1"#, "(?>a)", "a++", #"\p{Greek}"#, #"(?<n>a)\k<n>"#, #"\X"#])
    func `an expression that cannot be decided is valid, and says so`(expression: String) throws {
        #expect(try #require(RegularExpression(expression)).matchesWhole("aa") == .undecided)
    }

    @Test func `a match of a long text is undecided`() throws {
        let text = String(repeating: "a", count: RegularExpression.maximumScalars + 1)
        #expect(try #require(RegularExpression("a*")).matchesWhole(text) == .undecided)
    }

    @Test(.timeLimit(.minutes(1)))
    func `thousands of mutated expressions are parsed and matched without a trap`() {
        var generator = SeededGenerator(seed: 7)
        let pieces = [
            "(", ")", "[", "]", "{", "}", "^", "$", "|", "*", "+", "?", "\\", "a", "-", "&&", "--", ":",
            "1,2",
            "\\p{L}", "\\Q", "\\E", "(?i", "(?<", "=", "!", "#", "\\u", "41", "\u{301}", "😀", "\\x", "\n",
        ]
        for _ in 0..<3000 {
            let count = Int.random(in: 1...12, using: &generator)
            let expression = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            guard let parsed = RegularExpression(expression) else { continue }
            for text in ["", "a", "a1\n", "😀\u{301}"] {
                _ = parsed.matchesWhole(text)
                _ = parsed.occurs(in: text)
            }
        }
    }
}
