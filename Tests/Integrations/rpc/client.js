// Signs in with a reader and a writer in the manner of vscode-jsonrpc: headers that are split at CR LF CR LF.
const { spawn } = require("child_process");
const { writeFileSync } = require("fs");
const command = JSON.parse(process.env.COMMAND);
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let buffer = Buffer.alloc(0), count = 0;
child.stdout.on("data", (data) => {
  buffer = Buffer.concat([buffer, data]);
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/^Content-Length: (\d+)$/m.exec(buffer.toString("ascii", 0, end))[1]);
    if (buffer.length < end + 4 + length) return;
    const message = JSON.parse(buffer.toString("utf8", end + 4, end + 4 + length));
    buffer = buffer.subarray(end + 4 + length);
    if (message.method === "prompt.opened") fetch(message.params.url);
    if (waiting.has(message.id)) waiting.get(message.id)(message.result);
  }
});
const call = (method, params) => new Promise((resolve) => {
  waiting.set(++count, resolve);
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: count, method, params }));
  child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`, "ascii");
  child.stdin.write(body);
});
(async () => {
  const results = [
    await call("initialize", { client: { name: "node" }, capabilities: { prompts: ["openURL"] } }),
    await call("accounts.list", {}),
    await call("accounts.signIn", { provider: "github", flowKind: "authorizationCode" }),
  ];
  writeFileSync(process.env.RESULTS, JSON.stringify(results));
  child.stdin.end();
})();
