-- Sends 16 requests at once without waiting for answers between them (HTTP pipelining), repeatedly.
function init()
    local one = wrk.format("GET", "/livez")
    requests = string.rep(one, 16)
end

function request()
    return requests
end
