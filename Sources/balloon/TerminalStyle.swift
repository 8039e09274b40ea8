import BalloonPOSIX

/// The colours of text on a terminal.
struct TerminalStyle {
    /// The style for text on standard output.
    static let output = TerminalStyle(
        isTerminal: StandardStream.output.isTerminal, environment: ProcessEnvironment.variables())

    private let isColoured: Bool

    /// Uses colours on a terminal, unless `NO_COLOR` has a value or the terminal has no colours.
    init(isTerminal: Bool, environment: [String: String]) {
        isColoured = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }

    /// Colours the text of a failure red; unchanged without colours.
    func failure(_ text: String) -> String { coloured(text, "31") }

    /// Dims text that is not part of the result, such as a list's header; unchanged without colours.
    func faint(_ text: String) -> String { coloured(text, "2") }

    private func coloured(_ text: String, _ code: String) -> String {
        isColoured && !text.isEmpty ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
