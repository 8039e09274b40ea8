/// Texts that together use every construct of JSON and resemble the messages that the server receives.
enum Samples {
    static let compact =
        #"{"id":"e2c9a8d1-77b0-4f0e-9a57-3f0f6c1d2b3a","v":1,"type":"interactive","sourceId":"urn:mbid:AQAAY/+x=","#
        + #""interactiveData":{"bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com","data":"#
        + #"{"listPicker":{"sections":[{"title":"Fr\u00fcchte","multipleSelection":false,"items":[{"order":0,"#
        + #""identifier":"a\/1","title":"Äpfel \"rot\" 😀"},{"order":-1,"title":""}]}]},"images":[],"mspVersion":1.0,"#
        + #""ratio":2.5e-3,"extra":{},"none":null,"ok":true}}}"#

    static let indented = """
        {
          "mspID" : "a1b2",
          "limits" : [ 1, 2.0, 3e2, -4 ],\r
          "Grüße" : { "наш" : [ "你好", "\\uD83D\\uDE00", "\\n" ] },
        \t"flags" : [ true, false, null, {}, [ ] ]
        }

        """

    static let all = [compact, indented, #""just a string""#, "-12.5e+3", "true", "[[[[[]]],{}]]"]
}
