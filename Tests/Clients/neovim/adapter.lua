-- The adapter of the Neovim client for protocol/conformance: it does one task of the kit.
--
-- python3 protocol/conformance client nvim --headless -u NONE --cmd "set rtp^=$PWD/clients/neovim" \
--   -c "luafile $PWD/Tests/Clients/neovim/adapter.lua"
local rpc = require("einlass.rpc")
local PATIENCE = 60000

local function print_line(value)
  io.stdout:write(vim.fn.json_encode(value), "\n")
  io.stdout:flush()
end

local function outcome(answer)
  local problem = answer.problem
  if not problem then return { result = answer.result } end
  if problem.reason == "serverGone" then return { ended = problem.data.exitCode } end
  return { error = { code = problem.code, message = problem.message, data = problem.data } }
end

local function until_true(condition)
  assert(vim.wait(PATIENCE, condition, 5), "nothing came")
end

local function main()
  local task = vim.json.decode(io.read("*l"))
  local heard, dialogs, answers, started, ended = {}, {}, {}, nil, false
  local client, problem = rpc.start({ assert(rpc.find()) }, task.initialize, {
    started = function(result, refused) started = { result = result, problem = refused } end,
    notification = function(method, params)
      heard[method] = heard[method] or {}
      table.insert(heard[method], params)
    end,
    prompt = function(prompt, answer)
      dialogs[prompt.prompt] = answer
      return { close = function() dialogs[prompt.prompt] = nil end }
    end,
    ended = function() ended = true end,
  })
  assert(client, problem)
  until_true(function() return started end)
  local steps = started.problem and {} or task.steps
  if started.problem then print_line(outcome(started)) end
  for _, step in ipairs(steps) do
    if step.request then
      local answer = {}
      answers[step.request] = answer
      answer.cancel = client:request(step.method, step.params, function(result, refused)
        answer.is_there, answer.result, answer.problem = true, result, refused
      end)
    elseif step.await then
      until_true(function() return answers[step.await].is_there end)
      print_line(outcome(answers[step.await]))
    elseif step.hear then
      until_true(function() return heard[step.hear] and #heard[step.hear] > 0 end)
      print_line({ method = step.hear, params = table.remove(heard[step.hear], 1) })
    elseif step.answer then
      until_true(function() return dialogs[step.answer] end)
      local members = step.with
      local action = members.action
      members.action = nil
      dialogs[step.answer](action, members)
    elseif step.cancel then
      answers[step.cancel].cancel()
    end
  end
  client:close()
  until_true(function() return ended end)
end

local ok, problem = xpcall(main, debug.traceback)
if not ok then io.stderr:write(tostring(problem), "\n") end
vim.cmd(ok and "qall!" or "cquit!")
