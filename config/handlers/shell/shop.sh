#!/usr/bin/env bash
# A shop as a handler in shell, with jq: questions by quick reply, list picker, time picker and form. Each question has a
# text for devices that cannot show it, and the shop also understands answers that are written.
#
# It speaks balloon-handler/1: one JSON object per line on standard input and output. Standard error is the log.
exec jq --raw-input --compact-output --unbuffered '
# A message with one of the interactive types, as Apple describes it.
def interactive($id; $bubbles; $fallback; $payload):
  {type: "interactive", fallback: $fallback, interactiveData: ({
    bid: "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
    data: ({version: "1.0", requestIdentifier: $id} + $payload)} + $bubbles)};

# The bubbles before and after the answer; a quick reply has none.
def bubbles($title): {title: $title, style: "icon"} | {receivedMessage: ., replyMessage: .};

# The question is a text: a device shows the summary of a quick reply only in its notification.
def ask_for_request($id): ["What can we do for you?",
  interactive($id; {}; "Write “order” to order bread, or “person” to talk to a person."; {"quick-reply": {
    summaryText: "Please choose", items: [
      {identifier: "order", title: "Order bread"}, {identifier: "person", title: "Talk to a person"}]}})];

def ask_for_bread($id): [interactive($id; bubbles("Which bread?"); "Which bread? Write “rye” or “wheat”.";
  {listPicker: {sections: [{title: "Bread", order: 0, multipleSelection: false,
    items: [{identifier: "rye", title: "Rye", order: 0, style: "default"},
            {identifier: "wheat", title: "Wheat", order: 1, style: "default"}]}]}})];

def ask_for_time($id): [interactive($id; bubbles("When?"); "When will you collect it? Write “morning” or “evening”.";
  {event: {identifier: "collect", title: "Collect it", timeslots: [
    {identifier: "morning", startTime: "2030-07-10T08:00+0000", duration: 3600},
    {identifier: "evening", startTime: "2030-07-10T17:00+0000", duration: 3600}]}})];

def ask_for_name($id): [interactive($id; bubbles("Your name"); "Who collects it? Please write your name.";
  {dynamic: {version: "1.1", template: "messageForms", data: {
    startPageIdentifier: "name", pages: [{pageIdentifier: "name", type: "input", title: "Your name",
      subtitle: "Who collects it?", submitForm: true,
      options: {required: true, inputType: "singleline"}}]}}})];

def words: (.text // "") | ascii_downcase | gsub("^\\s+|\\s+$"; "");
def is($kind; $written): .kind == $kind or (.kind == "text" and (words | IN($written[])));

# After the question for the name the next text is the name: not every device shows forms.
def answer($state): .id as $id |
  # A heart on a message asks nothing.
  if .tapback then {outcome: "handled"}
  elif .kind == "quickReply" and .selectedIdentifier == "person" or is(""; ["person"]) then
    {outcome: "handoff", reason: "the customer asked for a person"}
  elif is("quickReply"; ["order"]) then {outcome: "handled", replies: ask_for_bread($id)}
  elif is("listPicker"; ["rye", "wheat"]) then {outcome: "handled", replies: ask_for_time($id)}
  elif is("timePicker"; ["morning", "evening"]) then
    {outcome: "handled", replies: ask_for_name($id), state: {asksForName: true}}
  elif .kind == "form" or $state.asksForName then
    {outcome: "handled", replies: ["Thank you! Your bread will be ready."], state: {}}
  else {outcome: "handled", replies: ask_for_request($id)} end;

def result:
  if .method == "initialize" then
    {protocolVersion: "1", handler: {name: "shop.sh"},
     events: ["text", "quickReply", "listPicker", "timePicker", "form"]}
  elif .method != "event" then {}
  else (.params.state // {}) as $state | .params.event | answer($state) end;

# A call ends at its line feed. Notifications have no id and get no answer; a line that is no JSON object is skipped.
(fromjson? // null)
| if type == "object" then select(has("id")) | {jsonrpc: "2.0", id, result: result}
  else "skipped a line that is no JSON object" | debug | empty end
'
