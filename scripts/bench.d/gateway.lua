-- Posts replies of a business to the gateway as the server does, each with a new id, to a thousand customers in turn.
-- Arguments: the token, the business, a word that makes the ids of this run unique, the text.
local count = 0

function init(args)
    token, business, run, text = args[1], args[2], args[3], args[4]
end

function request()
    count = count + 1
    local id, customer = run .. "-" .. count, "urn:mbid:bench-" .. count % 1000
    local body = '{"id":"' .. id .. '","v":1,"type":"text","sourceId":"' .. business .. '","destinationId":"' .. customer
        .. '","body":"' .. text .. '"}'
    return "POST /v1/message HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. token
        .. "\r\nContent-Type: application/json\r\nauto-reply: true\r\nmsp-agent: Balloon\r\nid: " .. id .. "\r\nsource-id: "
        .. business .. "\r\ndestination-id: " .. customer .. "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
end
