--- Starts einlass and exchanges messages with it: one JSON text per line.
local M = {}
local uv = vim.uv or vim.loop

--- The longest wait for the answer to `initialize`, in milliseconds.
M.patience = 10000

--- Returns the path of einlass, or nil and the problem. A workspace has no say in it.
function M.find()
  local named = vim.env.EINLASS
  if named and named ~= "" then
    if vim.fn.executable(named) == 1 then return vim.fn.exepath(named) end
    return nil, ("The variable EINLASS names %s, which is no program. Correct or remove it."):format(named)
  end
  local beside = vim.fn.fnamemodify(vim.v.progpath, ":h") .. "/einlass"
  for _, name in ipairs({ "einlass", beside, vim.fn.expand("~/.local/bin/einlass") }) do
    if vim.fn.executable(name) == 1 then return vim.fn.exepath(name) end
  end
  return nil, "There is no einlass on the PATH. Install einlass-*.whl of a release as its INSTALL.md says, "
    .. "or name einlass in the variable EINLASS."
end

local Problem = {
  __tostring = function(self)
    return self.message
  end,
}

--- Returns a problem: `code`, `reason`, `message` for people, and `data`.
function M.problem(code, message, data)
  data = type(data) == "table" and data or {}
  return setmetatable({ code = code, message = message, data = data, reason = data.reason or "unknown" }, Problem)
end

local Client = {}
Client.__index = Client

--- Starts `command` and sends `initialize` with the members of `hello`. Members of `on`, each optional:
--- `started(result, problem)`, `notification(method, params)`, `ended(code)`, and `prompt(prompt, answer)`, which shows
--- a dialog for a declared kind. It returns the dialog: `close()`, and `closing()`, which is called earlier and runs
--- while Neovim waits for a key (|api-fast|). `answer(action, members)` sends the answer of the person.
--- Returns the client, or nil and the problem.
function M.start(command, hello, on)
  local self = setmetatable({ on = on, calls = {}, unsent = {}, dialogs = {}, log = {}, last_id = 0 }, Client)
  self.kinds = {}
  for _, kind in ipairs(hello.capabilities.prompts) do
    self.kinds[kind] = true
  end
  local output, errors, open = uv.new_pipe(false), uv.new_pipe(false), 2
  self.input = uv.new_pipe(false)
  local function ended()
    open = open - 1
    if open > 0 then return end
    for _, dialog in pairs(self.dialogs) do
      if dialog.closing then dialog.closing() end
    end
    vim.schedule(function() self:_end() end)
  end
  local problem
  self.process, problem = uv.spawn(command[1], {
    args = vim.list_slice(command, 2), stdio = { self.input, output, errors },
  }, function(code, signal)
    self.code = signal > 0 and 128 + signal or code
    self.process:close()
    ended()
  end)
  if not self.process then
    for _, pipe in ipairs({ self.input, output, errors }) do pipe:close() end
    return nil, M.problem(0, ("%s cannot be started: %s"):format(command[1], problem), { reason = "notStarted" })
  end
  M.lines(output, function(line) self:_line(line) end, ended)
  M.lines(errors, function(line) -- einlass waits if nobody reads its log
    table.insert(self.log, line)
    if #self.log > 20 then table.remove(self.log, 1) end
  end)
  self:_send("initialize", hello, function(result, refused)
    self.refused, self.is_ready = refused, true
    for _, send in ipairs(self.unsent) do send() end
    if refused then self:close() end
    if on.started then on.started(result, refused) end
  end)
  vim.defer_fn(function() self:_is_late(command[1]) end, M.patience)
  return self
end

--- Fails the requests if there is no answer to `initialize` yet, because the program may be another one.
function Client:_is_late(program)
  local started = self.calls[1]
  if self.is_ready or not started then return end
  self.calls[1] = nil
  local message = ("%s did not answer within %d s, so it may be another program."):format(program, M.patience / 1000)
  started(nil, M.problem(0, message, { reason = "notStarted" }))
end

--- Calls `line` with each line of a pipe and `ended` at its end. Only LF ends a line: U+2028 is text.
function M.lines(pipe, line, ended)
  local pieces = {}
  pipe:read_start(function(problem, data)
    if problem or not data then
      pipe:close()
      return ended and ended()
    end
    local from, at = 1, data:find("\n", 1, true)
    while at do
      table.insert(pieces, data:sub(from, at - 1))
      line(table.concat(pieces))
      pieces, from = {}, at + 1
      at = data:find("\n", from, true)
    end
    table.insert(pieces, data:sub(from))
  end)
end

--- Sends a request. `callback(result, problem)` gets the answer. Returns a function that cancels the request, which is
--- answered all the same.
function Client:request(method, params, callback)
  local id, cancelled
  local function cancel()
    cancelled = true
    if id and self.calls[id] then self:_write({ method = "$/cancelRequest", params = { id = id } }) end
  end
  local function send()
    if self.refused then return vim.schedule(function() callback(nil, self.refused) end) end
    id = self:_send(method, params, callback)
    if cancelled then cancel() end
  end
  if self.is_ready then send() else table.insert(self.unsent, send) end
  return cancel
end

function Client:_send(method, params, callback)
  self.last_id = self.last_id + 1
  local id = self.last_id
  if self.has_ended or self.input:is_closing() then
    vim.schedule(function() callback(nil, self:_gone()) end)
    return id
  end
  params = next(params or {}) and params or vim.empty_dict()
  self:_write({ id = id, method = method, params = params })
  self.calls[id] = callback
  return id
end

--- Writes a message. Raises an error for a text that is not UTF-8.
function Client:_write(message)
  message.jsonrpc = "2.0"
  if not self.input:is_closing() then self.input:write(vim.fn.json_encode(message) .. "\n") end
end

--- Ends einlass: its input ends, then signals follow if that is not enough.
function Client:close()
  if self.input:is_closing() or self.is_closing then return end
  self.is_closing = true
  self.input:shutdown(function()
    if not self.input:is_closing() then self.input:close() end
  end)
  for delay, signal in pairs({ [4000] = "sigterm", [8000] = "sigkill" }) do
    vim.defer_fn(function()
      if not self.code then self.process:kill(signal) end
    end, delay)
  end
end

-- Runs in a callback of libuv, so that a dialog ends while Neovim waits for a key.
function Client:_line(line)
  local ok, message = pcall(vim.json.decode, line, { luanil = { object = true } })
  if not ok or type(message) ~= "table" then return end
  if message.method == "prompt.closed" then
    local dialog = self.dialogs[(message.params or {}).prompt]
    if dialog and dialog.closing then dialog.closing() end
  end
  vim.schedule(function() self:_receive(message) end)
end

function Client:_receive(message)
  if not message.method then
    local callback = self.calls[message.id]
    if not callback then return end
    self.calls[message.id] = nil
    local refused = message.error
    return callback(message.result, refused and M.problem(refused.code, refused.message, refused.data) or nil)
  end
  local params = message.params or {}
  if message.method == "prompt.closed" then
    local dialog = self.dialogs[params.prompt]
    self.dialogs[params.prompt] = nil
    if dialog and dialog.close then dialog.close() end
  end
  if self.on.notification then self.on.notification(message.method, params) end
  if message.method == "prompt.opened" then self:_ask(params) end
end

function Client:_ask(prompt)
  local id, is_shown = prompt.prompt, self.kinds[prompt.kind] or self.kinds.any
  local function answer(action, members)
    local params = vim.tbl_extend("force", members or {}, { prompt = id, action = action })
    self:request("prompt.answer", params, function(_, problem)
      -- Any other problem means that the prompt is over.
      if problem and problem.reason == "invalidChoice" and is_shown then self:_ask(prompt) end
    end)
  end
  if not is_shown then return answer("cancel") end
  local ok, dialog = pcall(self.on.prompt, prompt, answer)
  if ok then
    self.dialogs[id] = dialog
  else
    answer("cancel")
    vim.notify("einlass: " .. tostring(dialog), vim.log.levels.ERROR)
  end
end

function Client:_gone()
  local message = ("einlass ended before it answered (exit code %s)."):format(self.code or "unknown")
  if #self.log > 0 then message = message .. " " .. self.log[#self.log] end
  return M.problem(0, message, { reason = "serverGone", exitCode = self.code, log = self.log, retryable = true })
end

function Client:_end()
  self.has_ended = true
  if not self.input:is_closing() then self.input:close() end
  local calls, dialogs = self.calls, self.dialogs
  self.calls, self.dialogs = {}, {}
  for _, dialog in pairs(dialogs) do
    if dialog.close then dialog.close() end
  end
  for _, callback in pairs(calls) do callback(nil, self:_gone()) end
  if self.on.ended then self.on.ended(self.code) end
end

return M
