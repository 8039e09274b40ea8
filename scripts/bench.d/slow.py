#!/usr/bin/env python3
"""An HTTP server that answers every request with 404 after twenty seconds; prints its port first."""
import http.server
import time


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(20)
        self.send_error(404)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_port, flush=True)
server.serve_forever()
