import BalloonPOSIX
import TestSupport
import Testing

/// The payment sheet of `balloon simulate applePay`.
@Suite struct SimulatePaymentTests {
    @Test(arguments: [
        "simulate text --decline", "simulate --choose 1 --cancel", "simulate applePay text --change-address",
        "simulate form --shipping-method air",
    ])
    func `an option for the payment sheet needs the message applePay alone`(command: String) async throws {
        let directory = TemporaryDirectory()
        let result = try await Shell(directory: directory.path).run("balloon \(command)")
        #expect(result.status == 64)
    }

    @Test func `simulate applePay without a request sends a sample, and fails with an option of the sheet`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(in: directory)
        let declined = try await shell.run("balloon simulate applePay --decline")
        #expect(declined.status == 69, "\(declined.errors)")
        let sample = try await shell.run("balloon simulate applePay --wait")
        #expect(sample.output.contains("You chose: payment: paid"), "\(sample.output)\(sample.errors)")
        await server.stop()
    }
}
