import BalloonJSON

/// One line of JSON: an object whose members `body` writes.
func jsonLine(_ body: (inout JSONWriter) throws -> Void) rethrows -> String {
    String(decoding: try JSONWriter.object(body), as: UTF8.self) + "\n"
}
