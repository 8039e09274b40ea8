-- Posts gzipped messages, each with a new id, from a thousand customers in turn.
-- Arguments: the folder with the gzipped bodies 1.gz, 2.gz, ..., the token, the business, a word that makes the ids of this run
-- unique. A customer sends the bodies one after another, so that the server takes none for a repetition of the last.
local count = 0
local bodies = {}

function init(args)
    local number = 1
    local file = assert(io.open(args[1] .. "/1.gz", "rb"))
    while file do
        local body = file:read("*a")
        file:close()
        bodies[number] = "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
        number = number + 1
        file = io.open(args[1] .. "/" .. number .. ".gz", "rb")
    end
    before = "POST /message HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. args[2]
        .. "\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\ndestination-id: " .. args[3]
        .. "\r\nsource-id: urn:mbid:bench-"
    middle = "\r\nid: " .. args[4] .. "-"
end

function request()
    count = count + 1
    local customer = count % 1000
    return before .. customer .. middle .. count .. bodies[(count - customer) / 1000 % #bodies + 1]
end
