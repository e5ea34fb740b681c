-- Signs in through vim.lsp.rpc as it is. Arguments: the command line of einlass, in JSON, and the file for the results.
local command, results = vim.fn.json_decode(vim.env.COMMAND), {}
local browse = function(url)
  vim.loop.spawn("curl", { args = { "-s", "-L", "-o", "/dev/null", url } }, function() end)
end
local rpc = vim.lsp.rpc.start(command[1], vim.list_slice(command, 2), {
  notification = function(method, params)
    if method == "prompt.opened" then browse(params.url) end
  end,
})
local function call(method, params)
  local answer
  rpc.request(method, params, function(err, result) answer = { error = err, result = result } end)
  assert(vim.wait(30000, function() return answer ~= nil end, 10), method .. " has no answer")
  assert(not answer.error, vim.inspect(answer.error))
  table.insert(results, answer.result)
end
call("initialize", { client = { name = "neovim" }, capabilities = { prompts = { "openURL" } } })
call("accounts.list", vim.empty_dict())
call("accounts.signIn", { provider = "github", flowKind = "authorizationCode" })
vim.fn.writefile({ vim.fn.json_encode(results) }, vim.env.RESULTS)
vim.cmd("qall!")
