--- Words for people.
local M = {}

--- Returns text of a provider or of another program as one line without characters that steer a terminal.
function M.clean(text)
  return vim.fn.strtrans(tostring(text or ""))
end
local clean = M.clean

--- Returns the name of the application that a prompt is for.
function M.application(prompt)
  return clean(prompt.applicationTitle or prompt.application)
end

--- Returns the name of the provider of a prompt.
function M.provider(prompt)
  return clean(prompt.providerName or prompt.provider)
end

local READERS = { onlyMe = "only you", friends = "your friends", everyone = "everyone" }

--- Returns the rights of a prompt after a colon, or nothing.
function M.rights(prompt)
  local added, parts = {}, {}
  for _, name in ipairs(prompt.added or {}) do added[name] = true end
  for _, name in ipairs(prompt.permissions or {}) do
    table.insert(parts, clean(name) .. (added[name] and " (new)" or ""))
  end
  if prompt.audience then
    table.insert(parts, "posts for " .. (READERS[prompt.audience] or clean(prompt.audience)))
  end
  if vim.tbl_contains(prompt.includes or {}, "refreshToken") then table.insert(parts, "lasting access") end
  return #parts > 0 and ": " .. table.concat(parts, ", ") or ""
end

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
