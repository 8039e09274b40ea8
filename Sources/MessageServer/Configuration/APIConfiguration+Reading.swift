import BalloonWire
import MessageStore

extension APIConfiguration {
    /// Reads the settings that are present; absent ones keep their defaults.
    static func read(_ reader: inout ObjectReader) -> APIReference? {
        var settings = APIConfiguration()
        let names = reader.objects("tokens", maximum: maximumTokens, readToken) ?? []
        settings.origins = reader.values("origins", SettingFormat.origin) ?? []
        settings.hosts = reader.values("hosts", SettingFormat.host) ?? []
        reader.set(&settings.requestsPerMinute, "requestsPerMinute", in: 1...1_000_000)
        settings.hasInbox = reader.flag("inbox") ?? false
        settings.tokens = names.map(\.token)
        var (known, digests): (Set<String>, Set<[UInt8]>) = ([], [])
        for entry in names {
            if !known.insert(entry.token.name).inserted {
                reader.report(entry.name, "is the name of two tokens", hint: "name each token differently")
            }
            if !digests.insert(entry.token.digest).inserted {
                reader.report(
                    entry.hash, "is the hash of two tokens", hint: "issue one more with balloon token issue")
            }
        }
        return APIReference(settings: settings, businesses: names.flatMap(\.businesses))
    }

    private struct TokenEntry {
        let token: APIToken
        let name: Setting
        let hash: Setting
        let businesses: [Setting]
    }

    private static func readToken(_ reader: inout ObjectReader) -> TokenEntry? {
        reader.require("name", "sha256", "may", hint: "paste the object that balloon token issue prints")
        let name = reader.text("name")
        let hash = reader.text("sha256")
        let businesses = reader.texts("businesses")
        let rights = reader.values("may", SettingFormat.right)
        let person: Person?? = reader.object("person") { reader in
            reader.require("id", hint: "write {\"id\": \"agent-7\", \"name\": \"Ana\"}")
            let (id, name) = (
                reader.value("id", SettingFormat.personText), reader.value("name", SettingFormat.personText)
            )
            return id.flatMap { Person(id: $0, name: name) }
        }
        let (parsedName, digest) = reader.noting { problems in
            (
                name?.parsed(SettingFormat.tokenName, noting: &problems),
                hash?.parsed(SettingFormat.digest, noting: &problems)
            )
        }
        guard let name, let hash, let parsedName, let digest, let rights else { return nil }
        let token = APIToken(
            name: parsedName, digest: digest, businesses: businesses.map { Set($0.map(\.text)) },
            rights: Set(rights), person: person ?? nil)
        return TokenEntry(token: token, name: name, hash: hash, businesses: businesses ?? [])
    }
}

/// The settings of the business API, before the businesses that its tokens name are checked.
struct APIReference {
    let settings: APIConfiguration
    /// The slugs that tokens name.
    let businesses: [Setting]

    /// Reports a problem for each slug that a token names and no business has.
    func checkBusinesses(
        _ businesses: [BusinessConfiguration], noting problems: inout [ConfigurationProblem]
    ) {
        let slugs = businesses.map(\.slug)
        for named in self.businesses where !slugs.contains(named.text) {
            let hint = nearestSpelling(to: named.text, among: slugs).map { "did you mean \($0)?" }
            problems.add(
                at: named.place, "is not the slug of a business",
                hint: hint ?? "name a file of the folder businesses, without .json")
        }
    }
}

extension SettingFormat {
    /// A token's name in logs.
    static func tokenName(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isSlugByte),
            "is not a name", hint: "write 1 to 64 of a-z, 0-9 and -")
    }

    /// The SHA-256 of a token in hexadecimal.
    static func digest(_ text: String) throws(InvalidSetting) -> [UInt8] {
        guard !text.hasPrefix(APIToken.prefix) else {
            throw InvalidSetting(
                "is a token and not its hash",
                hint: "remove it, issue a new one with balloon token issue, and paste the printed object")
        }
        guard let bytes = try? Hex.decode(text), bytes.count == 32 else {
            throw InvalidSetting(
                "is not a SHA-256", hint: "paste the object that balloon token issue prints")
        }
        return bytes
    }

    /// The identifier or the name of a person.
    static func personText(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text, Person(id: text) != nil, "is empty, too long, or has control characters",
            hint: "write 1 to \(Person.maximumBytes) bytes")
    }

    /// A right of a token.
    static func right(_ text: String) throws(InvalidSetting) -> APIRight {
        let known = APIRight.allCases.map(\.rawValue).joined(separator: ", ")
        return try checked(APIRight(rawValue: text), "is not a right", hint: "use one of \(known)")
    }

    /// Returns an origin as browsers send it: scheme, host, and a port unless it is the default port of the
    /// scheme.
    static func origin(_ text: String) throws(InvalidSetting) -> String {
        guard let address = WebAddress(text), address.text == text,
            text.drop(while: { $0 != ":" }).dropFirst(3).allSatisfy({ $0 != "/" }), text == text.lowercased()
        else {
            throw InvalidSetting(
                "is not the origin of a web page",
                hint: "write https://HOST or https://HOST:PORT in lower case, without a path")
        }
        return text
    }

    /// A name of this server in `Host`, in lower case.
    static func host(_ text: String) throws(InvalidSetting) -> String {
        let host = text.lowercased()
        guard text.utf8.count <= 255, !text.contains("/"), WebAddress("http://" + host) != nil else {
            throw InvalidSetting(
                "is not a host", hint: "write it like balloon.example.com or balloon.example.com:8443")
        }
        return host
    }
}
