--- Shows a problem, its next steps, and the request that helps as a choice.
local clean, windows = require("einlass.text").clean, require("einlass.window")

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
    local notes = { "Register an application, then enter its client id:", clean(setup.form or setup.documentation) }
    for number, step in ipairs(setup.steps or {}) do table.insert(notes, ("%d. %s"):format(number, clean(step))) end
    if setup.redirect then table.insert(notes, "Its redirect address: " .. clean(setup.redirect)) end
    for _, member in ipairs({ "costs", "approval", "ends", "notes" }) do
      if setup[member] then table.insert(notes, clean(setup[member])) end
    end
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

--- By method of a next step: the words of the choice, from the parameters. Other steps need more than a choice.
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

--- The steps of problems that this client finds itself, by reason.
local OWN_STEPS = {
  serverGone = "Try again; :checkhealth einlass names the fault if it ends again",
  notStarted = "Install einlass, or name it in the variable EINLASS; :checkhealth einlass tests it",
}

--- By method of a next step: the command of Neovim or of a shell. PROVIDER and APPLICATION stand for names.
local COMMANDS = {
  ["accounts.signIn"] = ":Einlass sign-in PROVIDER", ["auth.perform"] = ":Einlass sign-in PROVIDER",
  ["providers.configure"] = ":Einlass sign-in PROVIDER", ["providers.list"] = ":Einlass providers",
  ["access.set"] = ":Einlass access PROVIDER allow APPLICATION",
  ["access.reset"] = ":Einlass access PROVIDER reset APPLICATION", ["accounts.list"] = ":Einlass accounts",
  ["accounts.add"] = "einlassctl accounts add", ["store.status"] = "einlassctl store slots",
}

--- Returns a next step in words, with its page and a command.
local function in_words(step, names)
  local command = step.method and COMMANDS[step.method] or step.command
  if step.method and command then
    command = command:gsub("%u%u%u+", function(name) return names[name] end)
    if step.params and step.params.replace == true then command = command .. " --replace" end
  end
  if command and command:find("^einlassctl ") then
    -- It speaks to another einlass, which must have the same store.
    for _, argument in ipairs(require("einlass").arguments) do
      local is_plain = argument:find("^[%w_@%%+=:,./-]+$")
      command = command .. " " .. (is_plain and argument or vim.fn.shellescape(argument))
    end
  end
  local text = clean(step.label)
  if step.page then text = text .. ": " .. clean(step.page) end
  return command and ("%s (%s)."):format(text, clean(command)) or text .. "."
end

--- Returns the problem, the provider's own words and the next steps.
local function lines_of(problem)
  local lines, data = { "einlass: " .. clean(problem.message) }, problem.data
  local said = data.serverError
  if said then
    local parts = {}
    for _, member in ipairs({ "status", "code", "text" }) do
      if said[member] then table.insert(parts, clean(said[member])) end
    end
    table.insert(lines, "The provider: " .. table.concat(parts, " "))
  end
  local application = problem.application or require("einlass").application
  local own = OWN_STEPS[problem.reason]
  for _, step in ipairs(own and { { label = own } } or data.next or {}) do
    local params = step.params or {}
    local names = { PROVIDER = params.provider or data.provider, APPLICATION = application.name }
    table.insert(lines, in_words(step, names))
  end
  return lines
end

--- Returns the first next step that is a choice here.
local function request_of(problem)
  for _, step in ipairs(problem.data.next or {}) do
    if CHOICES[step.method or ""] then return step end
  end
end

return function(problem, again)
  if SILENT[problem.reason] then return end
  local step, lines = request_of(problem), lines_of(problem)
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
  if step then
    offer(CHOICES[step.method](step.params), function()
      if SHOWN[step.method] then return vim.cmd("Einlass " .. SHOWN[step.method]) end
      if step.method == "providers.configure" then return configure(step.params, send) end
      send(step.method, step.params)
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
