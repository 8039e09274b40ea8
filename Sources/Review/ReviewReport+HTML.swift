extension ReviewReport {
    /// The report as one HTML page without scripts and without other files; the transcripts are bubbles.
    package func html(escaped: (String) -> String) -> String {
        let rows = results.map { result in
            let findings = result.findings.map { finding in
                let links = finding.quotes.map { quote in
                    "<a href=\"#\(anchor(quote))\">\(escaped(quote.scene))</a>"
                }
                return
                    "<li><b>\(finding.verdict.rawValue)</b> \(escaped(finding.words)) \(links.joined(separator: " "))</li>"
            }
            return """
                <tr class="\(Self.style(result.verdict))"><td>\(result.check.id)</td><td>\(result.verdict.rawValue)</td>\
                <td>\(escaped(result.check.title))<ul>\(findings.joined())</ul></td>\
                <td>\(escaped(result.check.requirements.joined(separator: " ")))<br>\(escaped(result.check.source))<br>\(result.check.certainty.rawValue)</td></tr>

                """
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Review of \(escaped(business))</title>
            <style>\(Self.sheet)</style></head><body>
            <h1>Review of \(escaped(business))</h1><p>\(escaped(summary))</p>
            <table><tr><th>check</th><th>result</th><th>expectation and findings</th><th>requirement</th></tr>
            \(rows.joined())</table>
            \(transcripts.enumerated().map { html($0.element, number: $0.offset, escaped) }.joined())
            </body></html>

            """
    }

    private func anchor(_ quote: Finding.Quote) -> String {
        let number = transcripts.firstIndex { $0.scene.name == quote.scene } ?? 0
        return "s\(number)t\(quote.turn)"
    }

    private func html(_ transcript: Transcript, number: Int, _ escaped: (String) -> String) -> String {
        let scene = transcript.scene
        let about = [scene.device.rawValue, scene.locale ?? "en_US"].joined(separator: ", ")
        var html = "<section><h2>\(escaped(scene.name))</h2><p class=\"t\">\(escaped(about))</p>\n"
        for (index, turn) in transcript.turns.enumerated() {
            let style = turn.actor == .customer ? "c" : "e"
            html +=
                "<div id=\"s\(number)t\(index)\" class=\"\(style)\"><span class=\"t\">\(Self.time(turn.at))</span> <p>\(escaped(turn.action))</p></div>\n"
            for line in turn.lines where !line.isTyping {
                let choices = line.choices.map { "<span>\(escaped($0))</span>" }.joined()
                let by = [line.author.rawValue, line.person ?? ""].filter { !$0.isEmpty }.joined(
                    separator: " ")
                html +=
                    "<div class=\"b\"><p>\(escaped(line.words))\(choices)</p> <span class=\"t\">\(Self.time(line.at)), \(escaped(by)), \(line.kind)</span></div>\n"
            }
            for reason in turn.undelivered {
                html += "<div class=\"e\"><p>not delivered: \(escaped(reason))</p></div>\n"
            }
        }
        if let failure = transcript.failure { html += "<div class=\"e\"><p>\(escaped(failure))</p></div>\n" }
        return html + "</section>\n"
    }

    private static func style(_ verdict: Finding.Verdict) -> String {
        verdict == .notTested ? "nottested" : verdict.rawValue
    }

    private static let sheet = """
        body{font-family:sans-serif;max-width:60em;margin:auto;line-height:1.4}td,th{vertical-align:top;text-align:left;border-top:1px solid #ccc}\
        .objection td:nth-child(2){background:#fbb}.advice td:nth-child(2){background:#fe9}.look td:nth-child(2){background:#def}\
        .c{text-align:right}.c p{background:#0a7cff;color:#fff}.b p{background:#e9e9eb}.e{text-align:center;color:#555}\
        .c p,.b p{display:inline-block;border-radius:1em;max-width:30em;text-align:left;white-space:pre-wrap}\
        .b span:not(.t){display:block;border-top:1px solid #bbb}.t{color:#777}:target p{outline:3px solid #f80}
        """
}
