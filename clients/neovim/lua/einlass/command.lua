--- The command `:Einlass`.
local M = {}
local einlass = require("einlass")
local words, show = require("einlass.text"), require("einlass.window").open
local clean = words.clean

--- Returns rows as lines with aligned columns.
local function aligned(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for column, cell in ipairs(row) do widths[column] = math.max(widths[column] or 0, vim.fn.strdisplaywidth(cell)) end
  end
  return vim.tbl_map(function(row)
    local cells = {}
    for column, cell in ipairs(row) do
      table.insert(cells, cell .. (" "):rep(widths[column] - vim.fn.strdisplaywidth(cell)))
    end
    return (table.concat(cells, "  "):gsub("%s+$", ""))
  end, rows)
end

local function say(message, ...)
  vim.notify("einlass: " .. message:format(...))
end

local function fail(message, ...)
  vim.notify("einlass: " .. message:format(...), vim.log.levels.ERROR)
end

local function name_of(account)
  return clean(account.provider) .. "/" .. words.username(account)
end

--- Calls `work` with the entries of a list, or reports the problem.
local function with(method, member, again, work)
  einlass.list(method, member, {}, function(entries, problem)
    if problem then return einlass.report(problem, again) end
    work(entries)
  end)
end

--- Calls `work` with the account of this name or id; without a name the person chooses.
local function with_account(name, again, work)
  with("accounts.list", "accounts", again, function(accounts)
    local found = vim.tbl_filter(function(account)
      local names = { account.account, name_of(account), account.username, account.provider .. "/" .. account.username }
      return not name or vim.tbl_contains(names, name)
    end, accounts)
    if #found == 0 then return fail("there is no such account. :Einlass accounts lists them.") end
    if name and #found == 1 then return work(found[1]) end
    local function format(account) return name_of(account) .. "  " .. words.account(account) end
    vim.ui.select(found, { prompt = "Which account?", format_item = format, kind = "einlass" }, function(account)
      if account then work(account) end
    end)
  end)
end

local function with_provider(name, again, work)
  if name then return work(name) end
  with("providers.list", "providers", again, function(providers)
    local usable = vim.tbl_filter(function(provider) return provider.configured and not provider.retired end, providers)
    local function format(provider) return clean(provider.name) end
    local options = { prompt = "Sign in at which provider?", format_item = format, kind = "einlass" }
    vim.ui.select(usable, options, function(provider)
      if provider then work(provider.id) end
    end)
  end)
end

--- Sends a request and calls `done` with its result, or reports the problem.
local function send(method, params, again, done)
  einlass.request(method, params, function(result, problem)
    if problem then return einlass.report(problem, again) end
    done(result)
  end)
end

--- Says which credentials stay valid at the provider.
local function say_removed(account, what)
  return function(result)
    local lines = { ("einlass: %s %s."):format(name_of(account), what) }
    for _, entry in ipairs(result.notRevoked or {}) do
      table.insert(lines, ("Still valid at the provider: %s (%s)"):format(clean(entry.what), clean(entry.reason)))
    end
    vim.notify(table.concat(lines, "\n"))
  end
end

local function confirmed(text, yes, work)
  vim.ui.select({ yes, "Cancel" }, { prompt = text, kind = "einlass" }, function(_, number)
    if number == 1 then work() end
  end)
end

local subcommands = {}

subcommands["sign-in"] = { complete = { "providers", "flows" }, run = function(again, provider, flow)
  with_provider(provider, again, function(id)
    local named = id:match("^https?://") and { resource = id, probe = true } or { provider = id, flowKind = flow }
    require("einlass.server")(named, nil, function(params)
      send("accounts.signIn", params, again, function(result)
        with("accounts.list", "accounts", nil, function(accounts)
          for _, account in ipairs(accounts) do
            if account.account == result.account then
              say("signed in to %s, %s.", name_of(account), words.account(account))
            end
          end
        end)
      end)
    end)
  end)
end }

subcommands.accounts = { complete = { "providers" }, run = function(again, provider)
  with("accounts.list", "accounts", again, function(accounts)
    local rows = {}
    for _, account in ipairs(accounts) do
      if not provider or account.provider == provider then
        table.insert(rows, { name_of(account), words.account(account), account.preferred and "preferred" or "" })
      end
    end
    if #rows == 0 then return say("there is no account here. :Einlass sign-in adds one.") end
    show(vim.list_extend({ "Accounts", "" }, aligned(rows)))
  end)
end }

subcommands.providers = { run = function(again)
  with("providers.list", "providers", again, function(providers)
    local rows = {}
    for _, provider in ipairs(providers) do
      local state = provider.retired and "no longer in service"
        or provider.configured and "ready" or "needs a registration"
      table.insert(rows, { clean(provider.id), clean(provider.name), state })
    end
    show(vim.list_extend({ "Providers", "" }, aligned(rows)))
  end)
end }

local STATES = { allow = "granted", deny = "denied" }

subcommands.access = { complete = { "providers", "decisions" }, run = function(again, provider, decision, application)
  if decision then
    local method = decision == "reset" and "access.reset" or "access.set"
    if method == "access.set" and not STATES[decision] then
      return fail("the decision is allow, deny or reset.")
    end
    local params = { provider = provider, application = application, state = STATES[decision] }
    return send(method, params, again, function()
      local name = clean(application or einlass.application.title)
      say("the access of %s to %s: %s.", name, clean(provider), STATES[decision] or "asks again")
    end)
  end
  with("access.list", "grants", again, function(grants)
    local rows = {}
    for _, grant in ipairs(grants) do
      if not provider or grant.provider == provider then
        local accounts = grant.accounts and ("%d of its accounts"):format(#grant.accounts) or "all its accounts"
        table.insert(rows, { clean(grant.application), clean(grant.provider), grant.state, accounts,
          clean(table.concat(grant.permissions, ", ")) })
      end
    end
    if #rows == 0 then return say("no access was decided yet.") end
    show(vim.list_extend({ "Access", "" }, aligned(rows)))
  end)
end }

subcommands.prefer = { complete = { "accounts" }, run = function(again, name)
  with_account(name, again, function(account)
    send("accounts.setPreferred", { provider = account.provider, account = account.account }, again, function()
      say("%s prefers %s.", einlass.application.title, name_of(account))
    end)
  end)
end }

subcommands["sign-out"] = { complete = { "accounts" }, run = function(again, name)
  with_account(name, again, function(account)
    confirmed(("Sign out of %s?"):format(name_of(account)), "Sign out", function()
      send("accounts.signOut", { account = account.account }, again, say_removed(account, "is signed out"))
    end)
  end)
end }

subcommands.remove = { complete = { "accounts" }, run = function(again, name)
  with_account(name, again, function(account)
    confirmed(("Remove %s and its credentials?"):format(name_of(account)), "Remove", function()
      send("accounts.remove", { account = account.account }, again, say_removed(account, "is removed"))
    end)
  end)
end }

subcommands.cancel = { run = function() einlass.cancel() end }

--- Runs `:Einlass` with these arguments.
function M.run(arguments)
  local command = subcommands[arguments[1] or "accounts"]
  if not command then return fail("there is no :Einlass %s. See :help :Einlass.", arguments[1]) end
  command.run(function() M.run(arguments) end, unpack(arguments, 2))
end

--- How long a completion waits for einlass, in milliseconds.
local PATIENCE = 2000

--- Returns the values of `value` for each entry of a list.
local function values(method, member, value)
  local found, is_over = {}, false
  einlass.list(method, member, {}, function(entries)
    found, is_over = vim.tbl_map(value, entries or {}), true
  end)
  vim.wait(PATIENCE, function() return is_over end, 10)
  return found
end

local COMPLETIONS = {
  accounts = function() return values("accounts.list", "accounts", name_of) end,
  -- A provider that is no longer in service is offered nowhere.
  providers = function()
    return vim.tbl_filter(function(id) return id ~= "" end, values("providers.list", "providers", function(provider)
      return provider.retired and "" or provider.id
    end))
  end,
  decisions = function() return { "allow", "deny", "reset" } end,
  flows = function() return { "authorizationCode", "deviceCode", "oauth1" } end,
}

--- The completion of `:Einlass`.
function M.complete(lead, line)
  local typed = vim.split(line:gsub("^%s*%S+%s+", ""), "%s+")
  local found
  if #typed == 1 then
    found = vim.tbl_keys(subcommands)
  else
    local kind = ((subcommands[typed[1]] or {}).complete or {})[#typed - 1]
    found = kind and COMPLETIONS[kind]() or {}
  end
  table.sort(found)
  return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, found)
end

return M
