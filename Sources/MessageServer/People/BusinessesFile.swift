import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Logging

/// A file of the data directory with a value for each business: `{"format":1,"businesses":{"5a6b…":…}}`.
struct BusinessesFile: Sendable {
    let directory: String
    let name: String

    private var path: String { directory + "/" + name }

    /// Reads the values; none when the file is missing, and nil after logging that it cannot be used.
    ///
    /// One value that `read` refuses makes the file a damaged one. `consequence` is for the log. The caller writes
    /// only what is within `limits`, which also count the two levels around each value.
    func values<Value>(
        _ logger: Logger, consequence: String, hint: String? = nil, limits: JSONLimits = JSONLimits(),
        maximumCount: Int = .max, _ read: (JSONValue) -> Value?
    ) -> [BusinessID: Value]? {
        var metadata: Logger.Metadata = ["file": "\(path)"]
        do throws(SystemError) {
            guard try Directory.holds(path) else { return [:] }
            let bytes = try File(path, for: .reading).readAll()
            if let root = (try? JSONDocument(bytes, limits: limits))?.root, root["format"]?.int == 1,
                let members = root["businesses"], members.kind == .object, members.count <= maximumCount
            {
                let values = members.members.map { (BusinessID($0.key), read($0.value)) }
                let known = Dictionary(values) { $1 }.compactMapValues { $0 }
                if values.allSatisfy({ $0.1 != nil }) { return known }
            }
            if let hint { metadata["hint"] = "\(hint)" }
            logger.error("file \(name) is damaged; \(consequence)", metadata: metadata)
        } catch {
            metadata["error"] = "\(error)"
            logger.error("file \(name) cannot be read; \(consequence)", metadata: metadata)
        }
        return nil
    }

    /// The text of a file with these values, each written by `write` as a member.
    static func text<Value>(
        _ values: [BusinessID: Value], _ write: (Value, _ business: String, inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("format", 1)
            writer.object("businesses") { writer in
                for (business, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                    write(value, business.rawValue, &writer)
                }
            }
        } + [UInt8(ascii: "\n")]
    }

    /// Replaces the file durably.
    func write(_ text: [UInt8]) throws(SystemError) { try AtomicFile.write(text, to: path) }
}
