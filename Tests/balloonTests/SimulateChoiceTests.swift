import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// Tests that `balloon simulate --choose` and `--fill` answer the newest question of the business.
@Suite struct SimulateChoiceTests {
    @Test func `simulate --choose answers the newest question that has no answer`() async throws {
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
        // The form is answered, so the list picker is now the newest question without an answer.
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

        // With --to the command does not read the data directory; it gets the questions to this other customer from the
        // gateway.
        _ = try await shell.run("balloon simulate text --text pizza --wait --customer bob")
        let url = try #require(try DevelopmentServer.read(in: directory.file("data"))).server
        let remote = try await shell.run("balloon simulate --choose 2 --to \(url) --wait --customer bob")
        #expect(remote.output.hasPrefix("customer  listPicker: Funghi\n"), "\(remote.errors)")
        await server.stop()
    }

    @Test func `an invitation is accepted under an opaque identifier and declined under the invited number`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await QuestionHandler.dev(in: directory)
        try AtomicFile.write(Fixture.bytes("outbound/invitation.json"), to: directory.file("invitation.json"))
        let number = "tel:+4915550001234"
        let sent = try await shell.run("balloon send --to \(number) --message invitation.json")
        #expect(sent.status == 0, "\(sent.errors)")
        for (answer, printed) in [
            ("yes", "customer  invitation: Yes\n"), ("no", "customer  close"),
        ] {
            let chosen = try await shell.run(
                "balloon simulate --customer \(number) --choose \(answer) --wait --allow-unhandled")
            #expect(chosen.status == 0, "\(chosen.errors)")
            #expect(chosen.output.hasPrefix(printed), "\(chosen.output)")
        }
        let invited = try await shell.run("balloon conversations show \(number)")
        #expect(invited.output.contains("business  invitation: Sam's Fish\n"), "\(invited.output)")
        #expect(invited.output.contains("customer  close"), "\(invited.output)")
        let shown = try await shell.run("balloon conversations show \(Simulate.defaultCustomer)")
        #expect(shown.output.contains("customer  invitation: Yes\n"), "\(shown.output)")
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
