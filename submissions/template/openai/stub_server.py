"""A stub of an OpenAI-compatible server on loopback, without a model. Remove it once you use a real endpoint."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from edu_rag.adapters import stand_in


class Stub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 8192  # head and body in one packet: as two they wait 40 ms for each other

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["model"] != "stand-in":
            return self.reply(404, {"error": {"message": f"no model {asked['model']!r}: the stub has 'stand-in'"}})
        prompt = asked["messages"][-1]["content"]
        said = stand_in(prompt)
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(said.split())}
        usage["total_tokens"] = sum(usage.values())
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        reply = {"id": "stub", "object": "chat.completion", "created": 0, "model": asked["model"]}
        return self.reply(200, {**reply, "choices": [choice], "usage": usage})

    def reply(self, status, values):
        body = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def start():
    """Serve in the background; return the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
