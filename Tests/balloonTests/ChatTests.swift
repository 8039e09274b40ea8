import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// `balloon chat` with lines from a pipe.
@Suite struct ChatTests {
    @Test
    func
        `each line of a chat answers a question, fills in a form, sends a text or a file, or runs a command`()
        async throws
    {
        let directory = TemporaryDirectory()
        let server = try await QuestionHandler.dev(in: directory)
        try AtomicFile.write(Array("x".utf8), to: directory.file("note.txt"))
        try AtomicFile.write(
            Array(
                """
                I want pizza
                Salami,Margherita
                4
                Margherita,Cola
                a form

                Ada
                a form
                /cancel
                ./note.txt
                /json
                hello
                /json
                /nonsense
                /typing
                /close
                /quit
                never sent
                """.utf8), to: directory.file("lines"))
        let result = try await Shell(directory: directory.path).run("balloon chat <lines")
        #expect(result.status == 0, "\(result.errors)")
        let choices = "  1 Margherita (Pizza)\n  2 Funghi (Pizza)\n  3 Cola (Drinks)\n"
        let form =
            "business  form: Question\nfill in the form page by page; /cancel leaves it\npage name: Name?\n  a text\n"
        let parts = [
            "business  listPicker: Question\n" + choices,
            // A line that is none of the choices is sent as an ordinary text.
            "business  text: nothing to choose\n",
            "4 is not offered; choose one of\n" + choices,
            "business  text: chosen: Margherita, Cola\n",
            form, "the page name must be answered\n", "business  text: chosen: Ada\n",
            form, "the form is not sent\n", "business  text: nothing to choose\n",
            #"{"direction":"outbound","#,
            "no command and no file is called /nonsense; /help lists the commands\n",
        ]
        var rest = result.output[...]
        for part in parts {
            guard let found = rest.firstRange(of: part) else {
                Issue.record("\(part) is missing in \(rest) of \(result.output)")
                break
            }
            rest = rest[found.upperBound...]
        }
        #expect(!result.output.contains("never sent"))
        #expect(!result.output.contains("no handler"))
        let shown = try await Shell(directory: directory.path).run("balloon conversations show")
        #expect(shown.output.contains("customer  text: [note.txt]"))
        await server.stop()
    }

    @Test(arguments: [
        ("/typing", ChatLine.typing), ("/quit", .quit), ("/etc/passwd", .file("/etc/passwd")),
        ("/etc", .unknownCommand("/etc")), ("./nothing", .text("./nothing")), ("Hello", .text("Hello")),
        ("", .text("")),
    ])
    func `a line of a chat is parsed as a command, a file or a text`(line: String, meaning: ChatLine) {
        #expect(ChatLine(line) == meaning)
    }
}
