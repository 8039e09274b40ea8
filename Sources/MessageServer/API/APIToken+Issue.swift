import BalloonJSON
import BalloonWire
package import MessageStore

extension APIToken {
    /// Creates a token of 32 random bytes, and the JSON object that describes the token in the server's file.
    ///
    /// Returns nil when the name or a business is not 1 to 64 of `a-z`, `0-9` and `-`. The object has the name and the
    /// SHA-256 of the token; only the token itself is secret.
    package static func issue(
        name: String, businesses: [String], rights: [APIRight], person: Person? = nil
    ) -> (token: String, object: String)? {
        let isValid = { (text: String) in
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isSlugByte)
        }
        guard ([name] + businesses).allSatisfy(isValid) else { return nil }
        let token = prefix + Base64.encode(randomBytes(32), alphabet: .url)
        let object = JSONWriter.object { writer in
            writer.fields(["name": name, "sha256": Hex.encode(SHA256.hash(Array(token.utf8)))])
            if !businesses.isEmpty {
                writer.list("businesses", businesses)
            }
            writer.array("may") { writer in
                for right in APIRight.allCases where rights.contains(right) { writer.string(right.rawValue) }
            }
            if let person {
                writer.key("person")
                person.write(to: &writer)
            }
        }
        return (token, String(decoding: object, as: UTF8.self))
    }
}
