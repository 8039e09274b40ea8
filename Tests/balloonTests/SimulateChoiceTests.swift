import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// `balloon simulate --choose` and `--fill` answer what the business asked last.
@Suite struct SimulateChoiceTests {
    @Test func `a choice answers the newest question that has no answer`() async throws {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await QuestionHandler.dev(in: directory)

        let early = try await shell.run("balloon simulate --choose 1")
        #expect(early.status == 69)
        #expect(early.errors.contains("has no unanswered question of the business"))

        _ = try await shell.run("balloon simulate text --text pizza --wait")
        _ = try await shell.run("balloon simulate text --text form --wait")
        let filled = try await shell.run("balloon simulate --fill name=Ada --wait")
        #expect(filled.output == "customer  form: Ada\nbusiness  text: chosen: Ada\n", "\(filled.errors)")
        // The form is answered, so that the list is the newest question.
        let wrong = try await shell.run("balloon simulate --choose Salami")
        #expect(wrong.status == 64)
        #expect(
            wrong.errors == """
                error: Salami is not offered; choose one of
                  1 Margherita (Pizza)
                  2 Funghi (Pizza)
                  3 Cola (Drinks)

                """)
        let chosen = try await shell.run("balloon simulate --choose margherita,3 --wait")
        #expect(
            chosen.output
                == "customer  listPicker: Margherita, Cola\nbusiness  text: chosen: Margherita, Cola\n",
            "\(chosen.errors)")
        #expect(try await shell.run("balloon simulate --choose 1").status == 69)

        // Another customer has questions of its own, which the gateway alone knows.
        _ = try await shell.run("balloon simulate text --text pizza --wait --customer bob")
        let url = try #require(try DevelopmentServer.read(in: directory.file("data"))).server
        let remote = try await shell.run("balloon simulate --choose 2 --to \(url) --wait --customer bob")
        #expect(remote.output.hasPrefix("customer  listPicker: Funghi\n"), "\(remote.errors)")
        await server.stop()
    }

    @Test(arguments: ["balloon simulate", "balloon simulate text --choose 1", "balloon simulate --fill =x"])
    func `a command without a message, or with a message and a choice, is refused`(command: String)
        async throws
    {
        let directory = TemporaryDirectory()
        let result = try await Shell(directory: directory.path).run(command)
        #expect(result.status == 64)
        #expect(result.errors.hasPrefix("Error: "))
    }
}
