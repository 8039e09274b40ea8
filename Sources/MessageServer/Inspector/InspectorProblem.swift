package import BalloonHTTP
package import BalloonJSON

/// The reason why a request to the inspector failed, as `application/problem+json` (RFC 9457).
package struct InspectorProblem: Error, Sendable {
    /// The status of the answer.
    package let status: HTTPStatus
    /// A sentence about this occurrence.
    package let detail: String
    /// The JSON Pointer of the member at fault; nil when no member is at fault.
    package var pointer: String?
    /// The possible choices, when the request named another one.
    package var offered: [String] = []
    /// Further header fields of the answer.
    var fields: [(name: String, value: String)] = []

    /// Creates a problem.
    package init(_ status: HTTPStatus, _ detail: String, pointer: String? = nil, offered: [String] = []) {
        self.status = status
        self.detail = detail
        self.pointer = pointer
        self.offered = offered
    }

    /// A problem with a member of the request's body.
    package init(_ detail: String, at value: JSONValue) {
        self.init(.badRequest, detail, pointer: value.pointer)
    }

    var json: [UInt8] {
        JSONWriter.object { writer in
            writer.fields([
                "title": status.reason, "status": status.code, "detail": detail, "pointer": pointer,
            ])
            guard !offered.isEmpty else { return }
            writer.list("offered", offered)
        }
    }
}

extension JSONValue {
    /// Returns the value as a whole number; throws when it is not a whole number, or outside the range.
    package func number(in range: ClosedRange<Int>) throws(InspectorProblem) -> Int {
        guard let number = int, range.contains(number) else {
            throw InspectorProblem(
                "this must be a number from \(range.lowerBound) to \(range.upperBound)", at: self)
        }
        return number
    }

    /// The word of an enumeration; throws a problem with all of them when this is another value.
    package func word<Word: RawRepresentable<String> & CaseIterable>(
        _ refusal: String
    ) throws(InspectorProblem) -> Word {
        guard let word = string.flatMap(Word.init(rawValue:)) else {
            throw InspectorProblem(
                .badRequest, refusal, pointer: pointer, offered: Word.allCases.map(\.rawValue))
        }
        return word
    }
}
