import HandlerKit
import StdioHandler

/// The shop of `config/handlers`, in Swift, as a child process.
@main struct StdioTestHandler {
    static func main() async { await StdioHandler.run(Shop()) }
}

struct Shop: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler {
    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        // Where a program prints, a protocol on standard output must not break.
        print("a customer wrote")
        return .reply(
            .quickReply(
                try QuickReplyRequest(
                    summary: "What can we do for you?",
                    items: [.init("order", title: "Order bread"), .init("person", title: "Talk to a person")])
            ))
    }

    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        if quickReply.selectedIdentifier == "person" { return .handoff(reason: "asked for a person") }
        let bread = ListPickerRequest.Section(
            "Bread", items: [.init("rye", title: "Rye"), .init("wheat", title: "Wheat")])
        return .reply(.listPicker(ListPickerRequest([bread], presentation: Presentation("Which bread?"))))
    }

    func listPicker(_ listPicker: ListPicker, _ context: Context) async throws -> Outcome {
        let slots = [
            TimePickerRequest.Timeslot(
                "morning", startTime: "2030-07-10T08:00+0000", duration: .seconds(3600)),
            TimePickerRequest.Timeslot(
                "evening", startTime: "2030-07-10T17:00+0000", duration: .seconds(3600)),
        ]
        return .reply(
            .timePicker(
                TimePickerRequest(
                    "collect", title: "Collect it", timeslots: slots, presentation: Presentation("When?"))))
    }

    func timePicker(_ timePicker: TimePicker, _ context: Context) async throws -> Outcome {
        let page = FormRequest.Page.input(
            "name", title: "Your name", subtitle: "Who collects it?", options: .init(isRequired: true),
            submitsForm: true)
        return .reply(.form(FormRequest([page], presentation: Presentation("Your name"))))
    }

    func form(_ form: Form, _ context: Context) async throws -> Outcome {
        .reply("Thank you! Your bread will be ready.")
    }
}
