/// The reference to the secret in the server's file, which never contains the secret itself.
///
/// `{"env": "NAME"}` or `{"file": "PATH"}`; the path is relative to the folder of the file with the
/// reference.
enum SecretReference: Equatable {
    case variable(Setting)
    case file(Setting)

    /// Reads `env` or `file`; nil after reporting a problem when the object has both or neither.
    static func read(_ reader: inout ObjectReader) -> SecretReference? {
        let (variable, file) = (reader.text("env"), reader.text("file"))
        guard reader.has("env") != reader.has("file") else {
            reader.problem(
                "does not name exactly one source", hint: "write {\"env\": \"NAME\"} or {\"file\": \"PATH\"}")
            return nil
        }
        return variable.map { .variable($0) } ?? file.map { .file($0) }
    }

    /// The name of the variable; nil when the reference names a file.
    var variableName: String? {
        switch self {
        case .variable(let name): name.text
        case .file: nil
        }
    }

    /// Returns the secret's text; nil after reporting a problem.
    func resolved(
        in environment: [String: String], folder: String,
        hint: String = "set it to the Base64 of the secret", noting problems: inout [ConfigurationProblem],
        reading read: (String) throws(InvalidSetting) -> String
    ) -> Setting? {
        switch self {
        case .variable(let name):
            guard let text = environment[name.text] else {
                let reason = "names an environment variable that is not set"
                problems.add(at: name.place, reason, hint: hint)
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
