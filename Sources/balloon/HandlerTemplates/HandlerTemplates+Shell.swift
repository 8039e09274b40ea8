// Written by scripts/generated from config/handlers; edit the files there.

extension HandlerTemplates {
    /// The text of the template file `config/handlers/shell/shop.sh`.
    static let shellShop = lines(
        ##"""
        |#!/usr/bin/env bash
        |# A shop as a handler in shell, with jq: questions by quick reply, list picker, time picker and form.
        |#
        |# It speaks balloon-handler/1: one JSON object per line on standard input and output. Standard error is the log.
        |exec jq --compact-output --unbuffered '
        |# A message with one of the interactive types, as Apple describes it.
        |def interactive($id; $title; $payload):
        |  {title: $title, style: "icon"} as $bubble
        |  | {type: "interactive", interactiveData: {
        |      bid: "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
        |      data: ({version: "1.0", requestIdentifier: $id} + $payload), receivedMessage: $bubble, replyMessage: $bubble}};
        |
        |def replies($id):
        |  if . == "text" then
        |    [interactive($id; "Welcome"; {"quick-reply": {summaryText: "What can we do for you?", items: [
        |      {identifier: "order", title: "Order bread"}, {identifier: "person", title: "Talk to a person"}]}})]
        |  elif . == "quickReply" then
        |    [interactive($id; "Which bread?"; {listPicker: {sections: [{title: "Bread", order: 0, multipleSelection: false,
        |      items: [{identifier: "rye", title: "Rye", order: 0, style: "default"},
        |              {identifier: "wheat", title: "Wheat", order: 1, style: "default"}]}]}})]
        |  elif . == "listPicker" then
        |    [interactive($id; "When?"; {event: {identifier: "collect", title: "Collect it", timeslots: [
        |      {identifier: "morning", startTime: "2030-07-10T08:00+0000", duration: 3600},
        |      {identifier: "evening", startTime: "2030-07-10T17:00+0000", duration: 3600}]}})]
        |  elif . == "timePicker" then
        |    [interactive($id; "Your name"; {dynamic: {version: "1.1", template: "messageForms", data: {
        |      startPageIdentifier: "name", pages: [{pageIdentifier: "name", type: "input", title: "Your name",
        |        subtitle: "Who collects it?", submitForm: true,
        |        options: {required: true, inputType: "singleline"}}]}}})]
        |  else ["Thank you! Your bread will be ready."] end;
        |
        |def result:
        |  if .method == "initialize" then
        |    {protocolVersion: "1", handler: {name: "shop.sh"},
        |     events: ["text", "quickReply", "listPicker", "timePicker", "form"]}
        |  elif .method != "event" then {}
        |  elif .params.event.selectedIdentifier == "person" then
        |    {outcome: "handoff", reason: "the customer asked for a person"}
        |  else
        |    .params.event as $event
        |    | {outcome: "handled", replies: ($event.kind | replies($event.id))}
        |  end;
        |
        |# Notifications have no id and get no answer.
        |select(has("id")) | {jsonrpc: "2.0", id, result: result}
        |'
        """##)
}
