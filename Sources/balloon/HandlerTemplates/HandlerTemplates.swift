/// The files that `balloon init` writes: copies of the samples in `config/handlers`, which the tests run.
///
/// `scripts/generated` writes the copies. Every line begins with a bar, so that tools do not mistake another language's
/// imports for Swift imports.
enum HandlerTemplates {
    /// Removes the bar at the beginning of each line.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst() + "\n" }.joined()
    }
}
