import Testing

@testable import MessageServer

/// The texts of customers in the inspector's `curl` command, which developers paste into a shell.
struct ShellQuotationTests {
    @Test(arguments: [
        ("it's", "it'\\''s"), ("'\u{301}; ls; '\u{FE0F}", "'\\''\u{301}; ls; '\\''\u{FE0F}"), ("é", "é"),
    ])
    func `no text ends the single quotes of a shell`(text: String, escaped: String) {
        #expect(text.escapedForSingleQuotes.utf8.elementsEqual(escaped.utf8))
    }

    @Test(arguments: [
        ("a \"b\" $c `d` \\", "a \\\"b\\\" \\$c \\`d\\` \\\\"), ("$\u{301}(ls)", "\\$\u{301}(ls)"),
        ("`\u{301}ls`\u{301}", "\\`\u{301}ls\\`\u{301}"), ("é", "é"),
    ])
    func `a shell replaces nothing in double quotes`(text: String, escaped: String) {
        #expect(text.escapedForDoubleQuotes.utf8.elementsEqual(escaped.utf8))
    }
}
