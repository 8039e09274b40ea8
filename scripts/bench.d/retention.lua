-- Posts one body after the other from a file with one on each line: FILE [FIRST], FIRST being the number of the first line.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local bodies, next_body = {}, 0

function init(arguments)
    for line in io.lines(arguments[1]) do bodies[#bodies + 1] = line end
    next_body = tonumber(arguments[2] or "0")
end

function request()
    next_body = next_body + 1
    return wrk.format(nil, nil, nil, bodies[(next_body - 1) % #bodies + 1])
end
