--- Signs in with einlass and gets tokens for plugins. `:help einlass` has the reference.
local M = {}
local rpc, prompts = require("einlass.rpc"), require("einlass.prompts")

--- The application of `:Einlass`, and of tokens without `client`. Access is granted to it.
M.application = { name = "neovim", title = "Neovim" }
--- Options of einlass for each start, such as `{ "--store", "/path" }`.
M.arguments = {}
--- Whether `token` and `report` ask the person. Without a value they ask if Neovim has a user interface.
M.interactive = nil

local clients, running = {}, {}
--- By digest of a token: the parameters for the next one. The token itself is not kept.
local rejectable = {}

--- Takes the place of `application`, `arguments` and `interactive`.
function M.setup(options)
  M.application = options.application or M.application
  M.arguments = options.arguments or M.arguments
  if options.interactive ~= nil then M.interactive = options.interactive end
end

--- Returns whether there is a person who can answer.
function M.may_ask()
  if M.interactive ~= nil then return M.interactive end
  return #vim.api.nvim_list_uis() > 0
end

local function announce(method, params)
  if method:match("^prompt%.") then return end
  local name = "Einlass" .. method:gsub("%f[%w]%l", string.upper):gsub("%.", "")
  local data = vim.fn.has("nvim-0.8") == 1 and params or nil
  vim.api.nvim_exec_autocmds("User", { pattern = name, modeline = false, data = data })
end

--- Returns the running einlass of an application, started if needed, or nil and the problem.
local function client_of(name, title)
  local client = clients[name]
  if client and not client.has_ended and not client.is_closing then return client end
  local program, missing = rpc.find()
  if not program then return nil, rpc.problem(0, missing, { reason = "notStarted" }) end
  local language, region = vim.v.lang:match("^(%l%l%l?)_(%u%u)")
  local problem
  client, problem = rpc.start(vim.list_extend({ program }, M.arguments), {
    protocolVersion = 1, client = { name = name, title = title }, processId = vim.fn.getpid(),
    capabilities = { prompts = prompts.kinds }, locale = language and language .. "-" .. region,
  }, {
    started = function(result) client.hello = result end,
    notification = announce,
    prompt = function(prompt, answer)
      return prompts.show(prompt, answer, function(...) return client:request(...) end)
    end,
  })
  clients[name] = client
  return client, problem
end

--- Calls `start(callback)`, which returns a function that cancels, and waits for the two values of its callback.
--- Escape and Ctrl-C cancel. The second one ends the wait, because einlass may not answer.
local function wait(start)
  local is_over, result, problem
  local is_cancelled = false
  local cancel = start(function(...)
    if not is_over then is_over, result, problem = true, ... end
  end)
  local function interrupt(is_taken)
    if is_over then return end
    if is_cancelled or not is_taken then cancel() end
    if is_cancelled then
      is_over, problem = true, rpc.problem(0, "The wait for einlass was ended.", { reason = "cancelled" })
    end
    is_cancelled = true
  end
  while not is_over do
    local _, why = vim.wait(100, function() return is_over end, 10)
    if why == -2 then interrupt(false) end
    require("einlass.panels").take_keys(interrupt)
  end
  return result, problem
end

--- Sends a request of an application. `callback(result, problem)` gets the answer. Without `callback` it waits and
--- returns both. With it, it returns a function that cancels the request.
function M.request(method, params, callback, application)
  application = application or M.application
  if not callback then
    return wait(function(done) return M.request(method, params, done, application) end)
  end
  local client, problem = client_of(application.name, application.title)
  if not client then
    problem.application = application
    vim.schedule(function() callback(nil, problem) end)
    return function() end
  end
  local cancel
  cancel = client:request(method, params, function(result, refused)
    running[cancel or 0] = nil
    if refused then refused.application = application end
    callback(result, refused)
  end)
  running[cancel] = true
  return cancel
end

--- Sends the requests of a list until its last page. `callback(entries, problem)`.
function M.list(method, member, params, callback)
  if not callback then
    return wait(function(done) return M.list(method, member, params, done) end)
  end
  local entries = {}
  local function page(cursor)
    return M.request(method, vim.tbl_extend("force", params or {}, { cursor = cursor }), function(result, problem)
      if problem then return callback(nil, problem) end
      vim.list_extend(entries, result[member])
      if result.nextCursor then return page(result.nextCursor) end
      callback(entries)
    end)
  end
  return page()
end

--- Cancels each open prompt and each running request.
function M.cancel()
  for _, client in pairs(clients) do
    for _, dialog in pairs(client.dialogs) do
      if dialog.cancel then dialog.cancel() end
    end
  end
  for cancel in pairs(running) do cancel() end
end

--- Returns the result of `initialize` of the own application, or nil before it.
function M.hello()
  local client = clients[M.application.name]
  return client and client.hello
end

--- Ends each running einlass. The next request starts it again.
function M.stop()
  for _, client in pairs(clients) do client:close() end
end

-- Tokens

--- The reasons that `auth.perform` with the person may mend.
local ASKS = {
  noSystemAccount = true, accessNotGranted = true, reloginNeeded = true, notIssuedToThisClient = true,
  interactionRequired = true,
}

local function application_of(options)
  if not options.client then return M.application end
  return { name = options.client, title = options.title or options.client }
end

--- Gets a token. Options: `provider` or `url`, and `account`, `scopes`, `client`, `title`, `interactive`,
--- `minValiditySeconds`. `callback(token, problem)`; without `callback` it waits and returns both. With it, it returns
--- a function that cancels.
function M.token(options, callback)
  if not callback then
    return wait(function(done) return M.token(options, done) end)
  end
  local application, may_ask, cancel = application_of(options), options.interactive, nil
  if may_ask == nil then may_ask = M.may_ask() end
  local found, asked = nil, 0
  local address = options.url and options.url:gsub("[?#].*", "")

  local function request(method, params, answered)
    cancel = M.request(method, params, answered, application)
  end

  local get
  local function ask(problem)
    if asked == 2 or not may_ask or not ASKS[problem.reason] then return callback(nil, problem) end
    asked = asked + 1
    -- The next step names the account, and the scopes or the resource that the credential lacks.
    local step = vim.tbl_filter(function(one) return one.method == "accounts.signIn" end, problem.data.next or {})[1]
    if step and found.account then
      return request("accounts.signIn", step.params, function(result, refused)
        if refused then return callback(nil, refused) end
        found.account = result.account
        get()
      end)
    end
    request("auth.perform", {
      provider = found.provider, account = found.account, scopes = options.scopes, selection = "whenMany",
      signIn = "ifNeeded", credential = "none",
    }, function(result, refused)
      if refused then return callback(nil, refused) end
      found.account = result.account
      get()
    end)
  end

  function get()
    local params = {
      account = found.account, scopes = options.scopes or found.scopes, resource = found.resource,
      address = address, minValiditySeconds = options.minValiditySeconds,
    }
    request("credentials.get", params, function(result, problem)
      if problem then return ask(problem) end
      local credential = result.credential
      if credential.type ~= "oauth2" or credential.tokenType:lower() ~= "bearer" then
        local message = "The account has no token that a plugin can send. Use credentials.sign."
        return callback(nil, rpc.problem(0, message, { reason = "noBearerToken", account = found.account }))
      end
      rejectable[vim.fn.sha256(credential.token)] = {
        options = options, account = found.account, resource = found.resource, address = address,
      }
      callback(credential.token)
    end)
  end

  request("services.resolve", {
    address = address, provider = options.provider, account = options.account,
    folder = (vim.uv or vim.loop).fs_realpath("."),
  }, function(result, problem)
    if problem then return callback(nil, problem) end
    found = result
    if found.account then return get() end
    problem = rpc.problem(found.error.code, found.error.message, found.error.data)
    problem.application = application
    ask(problem)
  end)
  return function() cancel() end
end

--- A server has refused this token (401): gets a new one. `callback` as in `token`.
function M.reject(token, callback)
  if not callback then
    return wait(function(done) return M.reject(token, done) end)
  end
  local known = rejectable[vim.fn.sha256(token)]
  if not known then
    local problem = rpc.problem(0, "This token is not from einlass.", { reason = "unknownToken" })
    vim.schedule(function() callback(nil, problem) end)
    return function() end
  end
  local application, cancel = application_of(known.options), nil
  local wanted = { account = known.account, resource = known.resource, address = known.address }
  local function again()
    cancel = M.token(vim.tbl_extend("force", known.options, { account = known.account }), callback)
  end
  cancel = M.request("credentials.get", wanted, function(result)
    -- Another request may have had the same answer, and its token is new already.
    if result and result.credential.token ~= token then return again() end
    cancel = M.request("credentials.reject", wanted, function(_, problem)
      if problem then return callback(nil, problem) end
      rejectable[vim.fn.sha256(token)] = nil
      again()
    end, application)
  end, application)
  return function() cancel() end
end

--- Shows a problem with its next steps. `again` repeats the request after the person has chosen one.
function M.report(problem, again)
  require("einlass.report")(problem, again)
end

return M
