import BalloonPOSIX
import TestSupport

/// A handler program that asks questions of several kinds.
enum QuestionHandler {
    /// Answers a text with a question of the kind that the text names, and a choice with the titles of the chosen
    /// items.
    private static let script = #"""
        #!/bin/sh
        bid=com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension
        interactive() { printf '{"replies":[{"type":"interactive","interactiveData":{"bid":"%s","data":{"version":"1.0",%s},"receivedMessage":{"title":"Question"}}}]}' "$bid" "$1"; }
        while IFS= read -r line; do
            id=$(printf '%s' "$line" | sed -E 's/^\{"jsonrpc": ?"2\.0", ?"id": ?([0-9]+).*/\1/')
            # The first of each name: later ones belong to the history.
            kind=$(printf '%s' "$line" | grep -o '"kind":"[^"]*"' | head -1)
            chosen=$(printf '%s' "$line" | grep -o '"summary":"[^"]*"' | head -1 | cut -d'"' -f4)
            case $kind$chosen$line in
            *'"initialize"'*) result='{"protocolVersion":"1","handler":{"name":"test"},"events":["text","quickReply","listPicker","form"]}' ;;
            '"kind":"text"'*pizza{*) result=$(interactive '"requestIdentifier":"r1","listPicker":{"sections":[{"title":"Pizza","order":0,"multipleSelection":true,"items":[{"identifier":"m","order":0,"style":"default","title":"Margherita"},{"identifier":"f","order":1,"style":"default","title":"Funghi"}]},{"title":"Drinks","order":1,"multipleSelection":false,"items":[{"identifier":"c","order":0,"style":"default","title":"Cola"}]}]}') ;;
            '"kind":"text"'*form{*) result=$(interactive '"requestIdentifier":"r2","dynamic":{"version":"1.2","template":"messageForms","data":{"startPageIdentifier":"name","pages":[{"pageIdentifier":"name","type":"input","subtitle":"Name?","options":{"required":true,"inputType":"singleline"}}]}}') ;;
            '"kind":"text"'*) result='{"replies":["nothing to choose"]}' ;;
            *'"event"'*) result="{\"replies\":[\"chosen: $chosen\"]}" ;;
            *) continue ;;
            esac
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
        done
        """#

    /// Writes the program to `directory` and starts `balloon dev` with it.
    static func dev(in directory: TemporaryDirectory) async throws -> ServingCommand {
        try AtomicFile.write(Array(script.utf8), to: directory.file("handler.sh"))
        return try await ServingCommand(
            "dev --listen 127.0.0.1:0 --handler ./handler.sh", in: directory, setup: "chmod +x handler.sh;",
            until: ServingCommand.endOfGreeting)
    }
}
