/// Where the server's file says that the secret is; the secret itself never stands there.
///
/// `{"env": "NAME"}` or `{"file": "PATH"}`, the path relative to the folder of the file that says so.
enum SecretReference: Equatable {
    case variable(Setting)
    case file(Setting)

    static let keys = ["env", "file"]

    /// Reads exactly one of the two.
    static func read(_ reader: inout ObjectReader) -> SecretReference? {
        let (variable, file) = (reader.text("env"), reader.text("file"))
        guard reader.has("env") != reader.has("file") else {
            reader.problem(
                "names not exactly one source", hint: "write {\"env\": \"NAME\"} or {\"file\": \"PATH\"}")
            return nil
        }
        return variable.map { .variable($0) } ?? file.map { .file($0) }
    }

    /// The variable's name, when it is one.
    var variableName: String? {
        switch self {
        case .variable(let name): name.text
        case .file: nil
        }
    }

    /// Finds the secret's text; nil after a problem was noted.
    func resolved(
        in environment: [String: String], folder: String, noting problems: inout [ConfigurationProblem],
        reading read: (String) throws(InvalidSetting) -> String
    ) -> Setting? {
        switch self {
        case .variable(let name):
            guard let text = environment[name.text] else {
                let reason = "names an environment variable that is not set"
                problems.append(
                    ConfigurationProblem(at: name.place, reason, hint: "set it to the Base64 of the secret"))
                return nil
            }
            return Setting(text: text, place: .variable(name.text))
        case .file(let path):
            let file = Setting(
                text: path.text.hasPrefix("/") ? path.text : folder + path.text, place: path.place)
            return file.parsed(read, noting: &problems).map { Setting(text: $0, place: path.place) }
        }
    }
}
