--- Words for people.
local M = {}

--- Returns text of a provider or of another program as one line without characters that steer a terminal.
function M.clean(text)
  return vim.fn.strtrans(tostring(text or ""))
end
local clean = M.clean

--- Returns the user name of an account; at a server of the person's own `username@host:port`.
function M.username(account)
  local name, subject = account.username, account.subject or ""
  return clean(vim.startswith(subject, name .. "@") and subject or name)
end

--- Returns an account in words.
function M.account(account)
  local name, username = clean(account.displayName), M.username(account)
  local shown = name ~= "" and name ~= username and ("%s (%s)"):format(name, username) or username
  if not account.health or account.health == "ok" then return shown end
  return shown .. " – " .. (account.health == "reloginNeeded" and "must sign in again" or clean(account.health))
end

return M
