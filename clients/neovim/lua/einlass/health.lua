--- `:checkhealth einlass`.
local M = {}
local health = vim.health or require("health")
local start, ok = health.start or health.report_start, health.ok or health.report_ok
local warn, fail = health.warn or health.report_warn, health.error or health.report_error

local DOCTOR = { "Run in a terminal: einlassctl doctor" }

--- The means to open a page, or nil.
local function opener()
  if vim.ui.open then return "vim.ui.open" end
  for _, name in ipairs(require("einlass.panels").openers) do
    if vim.fn.executable(name) == 1 then return name end
  end
end

function M.check()
  local einlass, words = require("einlass"), require("einlass.text")
  local clean = words.clean
  start("einlass")
  local program, missing = require("einlass.rpc").find()
  if not program then return fail(missing) end
  local status, problem = einlass.request("network.status", {})
  if problem then return fail(clean(problem.message), DOCTOR) end
  local hello = einlass.hello()
  ok(("%s %s"):format(program, hello.server.version))
  local store, configuration = hello.store, hello.configuration
  local accounts, refused = einlass.list("accounts.list", "accounts")
  if store.problem then
    local said = refused and refused.message or ("the store: %s"):format(store.problem.detail or store.problem.reason)
    fail(clean(said), DOCTOR)
  else
    ok("the store is protected by: " .. store.protection)
  end
  if configuration and configuration.problem then fail(clean(configuration.problem.message)) end
  if status.online == false then warn("this machine is offline") end
  if opener() then
    ok("pages are opened by " .. opener())
  else
    warn("no program opens pages", { "Install xdg-utils, or sign in by deviceCode." })
  end

  if store.problem and refused then return end
  start("einlass: accounts")
  if refused then return fail(clean(refused.message)) end
  if #accounts == 0 then warn("there is no account", { ":Einlass sign-in adds one." }) end
  for _, account in ipairs(accounts) do
    local name = clean(account.provider) .. "/" .. words.username(account)
    if account.health == "ok" then
      ok(name)
    else
      warn(name .. ": " .. clean(account.health), { (":Einlass sign-in %s"):format(clean(account.provider)) })
    end
  end
end

return M
