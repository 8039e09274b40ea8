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

    /// The file's path, relative to that of `folder`; nil when the reference names a variable.
    func path(in folder: String) -> String? {
        switch self {
        case .variable: nil
        case .file(let path): path.text.hasPrefix("/") ? path.text : folder + path.text
        }
    }

    /// Returns the secret's text; nil after reporting a problem.
    func resolved(
        in environment: [String: String], folder: String,
        hint: String = "set it to the Base64 of the secret", noting problems: inout [ConfigurationProblem]
    ) -> Setting? {
        switch self {
        case .variable(let name):
            guard let text = environment[name.text] else {
                let reason = "names an environment variable that is not set"
                problems.add(at: name.place, reason, hint: hint)
                return nil
            }
            return Setting(text: text, place: .variable(name.text))
        case .file(let file):
            return Setting(text: path(in: folder) ?? file.text, place: file.place).content(noting: &problems)
        }
    }
}
