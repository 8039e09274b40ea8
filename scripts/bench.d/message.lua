-- Posts one gzipped message under ever new ids, from a thousand customers in turn.
-- Arguments: the file with the gzipped body, the token, the business, a word that makes this run's ids its own.
local count = 0

function init(args)
    local file = assert(io.open(args[1], "rb"))
    local body = file:read("*a")
    file:close()
    before = "POST /message HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. args[2]
        .. "\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: " .. #body
        .. "\r\ndestination-id: " .. args[3] .. "\r\nsource-id: urn:mbid:bench-"
    middle = "\r\nid: " .. args[4] .. "-"
    after = "\r\n\r\n" .. body
end

function request()
    count = count + 1
    return before .. count % 1000 .. middle .. count .. after
end
