// A JSON-RPC loop in Node: reads lines with JSON.parse, answers accounts.list with JSON.stringify, with one write
// for each chunk read.
const accounts = [1, 2, 3].map((n) => ({
  account: `a_0123456789abcdefghijk${n}`, provider: "twitter", username: `person${n}`,
  displayName: `Person ${n}`, subject: `100${n}`, health: "ok", signedIn: true, preferred: false,
  addedAt: 1763712345,
}));
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  let out = "";
  for (const line of lines) {
    const request = JSON.parse(line);
    out += JSON.stringify({ jsonrpc: "2.0", id: request.id, result: { revision: 6, accounts } }) + "\n";
  }
  if (!process.stdout.write(out)) {
    process.stdin.pause();
    process.stdout.once("drain", () => process.stdin.resume());
  }
});
