import HandlerKit

/// A line that cannot be read, and that a program evidently wrote as its answer to a call.
///
/// Python's `json.dumps` writes such a line for a value that JSON does not have, `NaN` or `Infinity`. Another one is
/// longer than a line may be.
package struct DamagedAnswer: Sendable {
    /// The number of the call.
    package let id: Int
    /// The error with which the call fails; it has no part of the line.
    package let failure: RPCFailure

    /// Reads a line without its line feed; nil when it is JSON, or when the number of its call cannot be read.
    package init?(line: [UInt8]) {
        let text = withoutByteOrderMark(line)
        guard let id = Self.callNumber(in: text) else { return nil }
        do throws(JSONError) {
            _ = try JSONDocument(text)
            return nil
        } catch {
            self.init(
                of: id, "the answer is not JSON at byte \(error.offset)", breaking: "json",
                found: "a line that is not JSON at byte \(error.offset): \(error.reason)",
                allowed: "one line of JSON, which has no NaN and no Infinity")
        }
    }

    /// Reads the beginning of a line that is too long; nil when it does not show which call has this result.
    ///
    /// An error with a long message is no result: the call may succeed later.
    package init?(beginning: [UInt8]) {
        guard let id = Self.callNumber(in: withoutByteOrderMark(beginning), needing: "result") else {
            return nil
        }
        self.init(
            of: id, "the answer is too long", breaking: "answerSize", found: "a longer line",
            allowed: "at most \(ProtocolVersion.maximumLineBytes) bytes")
    }

    private init(of id: Int, _ message: String, breaking rule: String, found: String, allowed: String) {
        self.id = id
        failure = RPCFailure(
            code: RPCFailure.Code.unparseable, message: message,
            problems: [
                .init(
                    rule: rule, pointer: "", found: found, allowed: allowed, passage: AnswerReading.passage)
            ])
    }

    /// Finds the top-level member `id` of an answer without parsing the values; nil for a call of the program, and
    /// for an answer without the member `needed`.
    private static func callNumber(in text: [UInt8], needing needed: String? = nil) -> Int? {
        var (number, isMessage, depth, at) = (Int?.none, false, 0, 0)
        var isComplete = needed == nil
        while at < text.count {
            switch text[at] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                let start = at + 1
                at = endOfString(in: text, from: start)
                guard depth == 1, let value = memberValue(in: text, after: at) else { break }
                let name = text[start..<at]
                if name.elementsEqual("method".utf8) { return nil }
                if name.elementsEqual("jsonrpc".utf8) { isMessage = true }
                if let needed, name.elementsEqual(needed.utf8) { isComplete = true }
                if name.elementsEqual("id".utf8) {
                    let digits = value.prefix(while: \.isDigit)
                    number = Int(String(decoding: digits.prefix(20), as: UTF8.self))
                }
            default: break
            }
            at += 1
        }
        return isMessage && isComplete ? number : nil
    }

    /// The place of the quotation mark that ends a string, or the end of the text.
    private static func endOfString(in text: [UInt8], from start: Int) -> Int {
        var at = start
        while at < text.count, text[at] != UInt8(ascii: "\"") {
            at += text[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(at, text.count)
    }

    /// The text after a name and its colon; nil when the string is not a name.
    private static func memberValue(in text: [UInt8], after end: Int) -> ArraySlice<UInt8>? {
        let rest = text[min(end + 1, text.count)...].drop { $0 == UInt8(ascii: " ") }
        guard rest.first == UInt8(ascii: ":") else { return nil }
        return rest.dropFirst().drop { $0 == UInt8(ascii: " ") }
    }
}
