"""The floor: the least an agent on `httpx2` can do. One tool, no permissions, no records, no prompts, no error handling.

python floor_httpx2.py PROMPT, with BENCH_BASE_URL set. What yagent costs is shown as a ratio to, or a difference from, this program.
"""

import json
import os
import sys
from itertools import islice
from typing import Any

import httpx2

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "start_line": {"type": "integer"}, "max_lines": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = [{"type": "function", "function": {"name": "read_file", "description": "Read lines of a file.", "parameters": PARAMETERS}}]


def ask(client: httpx2.Client, messages: list[Any]) -> dict[str, Any]:
    """One streamed call; the assistant's message."""
    body = json.dumps({"model": "bench-model", "messages": messages, "tools": TOOLS, "stream": True}).encode()
    text = ""
    calls: dict[int, dict[str, Any]] = {}
    url = os.environ["BENCH_BASE_URL"] + "/chat/completions"
    with client.stream("POST", url, content=body, headers={"content-type": "application/json"}) as reply:
        for line in reply.iter_lines():
            if not line.startswith("data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
                for part in choice["delta"].get("tool_calls", ()):
                    call = calls.setdefault(part["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                    call["id"] = part.get("id") or call["id"]
                    for name, piece in part["function"].items():
                        call["function"][name] += piece
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": list(calls.values())} if calls else message


def read_file(path: str, start_line: int = 1, max_lines: int | None = None) -> str:
    """The lines asked for."""
    with open(path, encoding="utf-8") as file:
        return "".join(islice(file, start_line - 1, None if max_lines is None else start_line - 1 + max_lines))


def main() -> None:
    """Loop until the model answers in words."""
    messages: list[Any] = [{"role": "system", "content": "You are a coding agent."}, {"role": "user", "content": sys.argv[1]}]
    client = httpx2.Client(timeout=600)
    while True:
        message = ask(client, messages)
        messages.append(message)
        if "tool_calls" not in message:
            print(message["content"])
            return
        for call in message["tool_calls"]:
            content = read_file(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


if __name__ == "__main__":
    main()
