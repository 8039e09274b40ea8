import BalloonJSON
import MessageServer

/// Creates one line of JSON: an object whose members `body` writes.
///
/// Control and format characters, which could move the terminal's cursor or reverse its text, are escaped.
func jsonLine(_ body: (inout JSONWriter) throws -> Void) rethrows -> String {
    terminalJSON(String(decoding: try JSONWriter.object(body), as: UTF8.self)) + "\n"
}

/// Creates one line of JSON.
func jsonLine(_ object: JSONObject) -> String { jsonLine { $0.fields(object) } }
