-- Sends 16 requests at once, again and again.
function init()
    local one = wrk.format("GET", "/livez")
    requests = string.rep(one, 16)
end

function request()
    return requests
end
