--- Shows a problem, its next step, and the request that helps as a choice.
local clean, windows = require("einlass.text").clean, require("einlass.window")
local next_steps = require("einlass.next_steps")

local SILENT = { userCanceled = true, userCanceledAccountSelection = true, cancelled = true }

--- Stores a registration: asks for the client id, and for the secret that the provider needs.
local function configure(params, send)
  local einlass = require("einlass")
  einlass.list("providers.list", "providers", {}, function(providers, problem)
    if problem then return einlass.report(problem) end
    local found = vim.tbl_filter(function(provider) return provider.id == params.provider end, providers)[1]
    if not found then
      local message = ("There is no provider %s."):format(clean(params.provider))
      return einlass.report(require("einlass.rpc").problem(0, message, { reason = "unknownProvider" }))
    end
    local setup = found.setup
    local notes = { "Register an application, then enter its client id:", clean(setup.documentation) }
    if setup.redirect then table.insert(notes, "Its redirect address: " .. clean(setup.redirect)) end
    if setup.notes then table.insert(notes, clean(setup.notes)) end
    local window = windows.open(vim.list_extend({ "Registration at " .. clean(found.name), "" }, notes))
    vim.ui.input({ prompt = "Client id: " }, function(id)
      if not id or id == "" then return windows.close(window) end
      local is_needed = vim.tbl_contains(setup.needs, "clientSecret")
      local question = is_needed and "Client secret: " or "Client secret, if any: "
      -- Ctrl-C is an error or, as Escape, `cancelreturn`, which is a text that no person types.
      local ok, secret = pcall(vim.fn.inputsecret, { prompt = question, cancelreturn = "\3" })
      windows.close(window)
      if not ok or secret == "\3" then return end
      send("providers.configure", {
        provider = params.provider, clientId = vim.trim(id), clientSecret = secret ~= "" and secret or nil,
      })
    end)
  end)
end

--- By method of a hint: the words of the choice, from the parameters. Other hints need more than a choice.
local CHOICES = {
  ["accounts.signIn"] = function(params) return "Sign in to " .. clean(params.resource or params.provider) end,
  ["access.reset"] = function(params) return "Forget the decision about " .. clean(params.provider) end,
  ["access.set"] = function(params)
    return ("Allow %s the accounts of %s"):format(clean(params.application), clean(params.provider))
  end,
  ["providers.configure"] = function(params) return "Enter the registration at " .. clean(params.provider) end,
  ["accounts.list"] = function() return "Show the accounts" end,
  ["providers.list"] = function() return "Show the providers" end,
}
local SHOWN = { ["accounts.list"] = "accounts", ["providers.list"] = "providers" }

--- The methods that messages name. The next step names the command in their place.
local METHODS = { "access.set", "accounts.list", "accounts.signIn", "providers.configure", "providers.list" }

--- Returns a message without the sentences that name one of METHODS.
local function in_words(message)
  message = message:gsub("^The parameter /server ", "The server "):gsub(", or pass secure: false", "")
  local kept = vim.tbl_filter(function(sentence)
    for _, method in ipairs(METHODS) do
      if sentence:find(method, 1, true) then return false end
    end
    return true
  end, vim.split(clean(message):gsub("%. ", ".\n"), "\n", { plain = true }))
  return #kept > 0 and table.concat(kept, " ") or clean(message)
end

local OPENING_THE_STORE =
  "Provide the key or passphrase of this store, as the message says. Its key slots: einlassctl store slots."

--- Returns the problem, the provider's own words and the next step.
local function lines_of(problem)
  local lines, data = { "einlass: " .. in_words(problem.message) }, problem.data
  local said = data.serverError
  if said then
    local parts = {}
    for _, member in ipairs({ "status", "code", "text" }) do
      if said[member] then table.insert(parts, clean(said[member])) end
    end
    table.insert(lines, "The provider: " .. table.concat(parts, " "))
  end
  local application = problem.application or require("einlass").application
  local names = { PROVIDER = data.provider, ACCOUNT = data.account, APPLICATION = application.name }
  local server = data.path == "/server" and "Enter its address again (:Einlass sign-in PROVIDER)."
  local key = data.detail == "keyUnavailable" and OPENING_THE_STORE
  local step = (server or key or next_steps[problem.reason] or ""):gsub("%u%u%u+", function(name)
    return names[name] and clean(names[name])
  end)
  if step ~= "" then table.insert(lines, step) end
  return lines
end

return function(problem, again)
  if SILENT[problem.reason] then return end
  local hint, lines = problem.data.hint, lines_of(problem)
  local choices, actions = {}, {}
  local function offer(choice, action)
    table.insert(choices, choice)
    table.insert(actions, action)
  end
  local function request(method, params)
    local einlass = require("einlass")
    einlass.request(method, params, function(_, refused)
      if refused then return einlass.report(refused, again) end
      if again then again() end
    end, problem.application)
  end
  local function send(method, params)
    if method ~= "accounts.signIn" then return request(method, params) end
    require("einlass.server")(params, problem.application, function(named) request(method, named) end)
  end
  if hint and CHOICES[hint.method] then
    offer(CHOICES[hint.method](hint.params), function()
      if SHOWN[hint.method] then return vim.cmd("Einlass " .. SHOWN[hint.method]) end
      if hint.method == "providers.configure" then return configure(hint.params, send) end
      send(hint.method, hint.params)
    end)
  end
  if problem.data.retryable and again then
    local pause = problem.data.retryAfterSeconds
    offer(pause and ("Try again in %d s"):format(pause) or "Try again", function()
      vim.defer_fn(again, (pause or 0) * 1000)
    end)
  end
  if #choices == 0 or not require("einlass").may_ask() then
    return vim.notify(table.concat(lines, "\n"), vim.log.levels.ERROR)
  end
  table.insert(choices, "Close")
  vim.ui.select(choices, { prompt = table.concat(lines, " "), kind = "einlass" }, function(_, number)
    if actions[number] then actions[number]() end
  end)
end
