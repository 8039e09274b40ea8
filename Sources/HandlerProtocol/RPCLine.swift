package import HandlerKit

/// The writing of protocol lines; each line ends with a line feed.
///
/// Half a surrogate pair, which a customer's message may have, becomes U+FFFD: some programs cannot read the line
/// otherwise.
package enum RPCLine {
    /// Writes a call that expects an answer.
    package static func request(
        id: Int, method: String, _ params: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        line { writer in
            writer.field("id", id)
            writer.field("method", method)
            writer.object("params", params)
        }
    }

    /// Writes a notification: a call without an answer.
    package static func notification(
        method: String, _ params: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        line { writer in
            writer.field("method", method)
            writer.object("params", params)
        }
    }

    /// Writes the successful answer to a call.
    package static func result(id: JSONValue, _ result: (inout JSONWriter) -> Void = { _ in }) -> [UInt8] {
        line { writer in
            writer.field("id", id)
            writer.object("result", result)
        }
    }

    /// Writes the successful answer to a call; `result` is one JSON value.
    package static func result(id: JSONValue, raw result: [UInt8]) -> [UInt8] {
        line { writer in
            writer.field("id", id)
            writer.raw("result", result)
        }
    }

    /// Writes the error answer to a call.
    package static func failure(id: JSONValue, _ failure: RPCFailure) -> [UInt8] {
        line { writer in
            let (delay, problems) = (failure.retryAfter?.milliseconds, failure.problems)
            let data = JSONObject([
                "retryAfterMs": delay, "problems": problems.isEmpty ? nil : problems,
            ])
            writer.fields([
                "id": id,
                "error": JSONObject([
                    "code": failure.code, "message": failure.message,
                    "data": delay == nil && problems.isEmpty ? nil : data,
                ]),
            ])
        }
    }

    private static func line(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter.object(reservingCapacity: 512) { writer in
            writer.field("jsonrpc", "2.0")
            body(&writer)
        }
        replaceLoneSurrogates(in: &json)
        json.append(UInt8(ascii: "\n"))
        return json
    }
}

extension Duration {
    /// The duration in whole milliseconds, without the fraction; clamped to the range of an integer.
    package var milliseconds: Int {
        let (seconds, attoseconds) = components
        let (product, overflows) = Int(seconds).multipliedReportingOverflow(by: 1000)
        let (sum, carries) = product.addingReportingOverflow(Int(attoseconds / 1_000_000_000_000_000))
        return overflows || carries ? (seconds < 0 ? .min : .max) : sum
    }
}
