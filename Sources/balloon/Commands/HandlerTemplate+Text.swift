import CTemplates

/// A sample of `config/handlers` that `balloon init` writes; the compiler puts its bytes into the program.
extension HandlerTemplate {
    /// The content of the file.
    var text: String {
        let bytes = (0..<balloon_template_size(self)).map { balloon_template_byte(self, $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
