--- The prompts that are questions, by vim.ui. One at a time, because the built-in vim.ui waits within the call.
local M = {}
local words = require("einlass.text")
local clean, application, provider, rights = words.clean, words.application, words.provider, words.rights

local Question = {}
Question.__index = Question
local waiting, current = {}, nil

local function next_question()
  if current or #waiting == 0 then return end
  current = table.remove(waiting, 1)
  current.start()
end

--- Ends a question. Without `action` nothing is sent, because einlass has closed the prompt.
function Question:done(action, members)
  if self.is_over then return end
  self.is_over = true
  if current == self then current = nil end
  if action and not self.is_closed then self.answer(action, members) end
  vim.schedule(next_question)
end

--- Calls `ui`, a function of vim.ui, with a callback that is called at most once, and not after the end of the prompt.
function Question:step(ui, callback)
  if self.is_closed then return self:done() end
  local before, is_answered = {}, false
  for _, window in ipairs(vim.api.nvim_list_wins()) do before[window] = true end
  self.is_blocking = true
  ui(function(choice)
    if is_answered or self.is_over then return end
    is_answered, self.windows = true, {}
    if self.is_closed then return self:done() end
    callback(choice)
  end)
  self.is_blocking = false
  if is_answered or self.is_over then return end
  self.windows = vim.tbl_filter(function(window) return not before[window] end, vim.api.nvim_list_wins())
end

--- Lets the person choose among texts. `chosen` is called with the number; nothing chosen cancels.
function Question:select(text, items, chosen)
  self:step(function(callback)
    vim.ui.select(items, { prompt = text, kind = "einlass" }, function(_, number) callback(number) end)
  end, function(number)
    if number then chosen(number) else self:done("cancel") end
  end)
end

function Question:input(text, given)
  self:step(function(callback)
    vim.ui.input({ prompt = text .. ": " }, callback)
  end, function(reply)
    if reply and reply ~= "" then given(vim.trim(reply)) else self:done("cancel") end
  end)
end

function Question:secret(text, given)
  self:step(function(callback)
    local ok, reply = pcall(vim.fn.inputsecret, text .. ": ")
    callback(ok and reply or "")
  end, function(reply)
    if reply ~= "" then given(reply) else self:done("cancel") end
  end)
end

local ask = {}

--- Asks the question of a prompt, as `show` of prompts.lua.
function M.show(prompt, answer, request)
  local question = setmetatable({ answer = answer, request = request, windows = {} }, Question)
  question.start = function() ask[prompt.kind](prompt, question) end
  table.insert(waiting, question)
  vim.schedule(next_question)
  return {
    closing = function()
      question.is_closed = true
      if question.is_blocking then vim.api.nvim_input("<Esc>") end
    end,
    close = function()
      question.is_closed = true
      waiting = vim.tbl_filter(function(other) return other ~= question end, waiting)
      for _, window in ipairs(question.windows) do pcall(vim.api.nvim_win_close, window, true) end
      if not question.is_blocking then question:done() end
    end,
    cancel = function()
      answer("cancel")
    end,
  }
end

function ask.grantAccess(prompt, question)
  local text = ("%s wants to use your %s accounts%s."):format(application(prompt), provider(prompt), rights(prompt))
  question:select(text, { "Allow", "Don't allow", "Not now" }, function(number)
    question:done(({ "accept", "decline", "cancel" })[number])
  end)
end

function ask.selectAccount(prompt, question)
  local items = vim.tbl_map(words.account, prompt.accounts)
  if prompt.more then table.insert(items, "Another account") end
  question:select(("Which %s account for %s?"):format(provider(prompt), application(prompt)), items, function(number)
    local account = prompt.accounts[number]
    if account then return question:done("accept", { account = account.account }) end
    question:input("User name", function(name)
      local function search(cursor)
        question.request("accounts.list", { provider = prompt.provider, cursor = cursor }, function(page)
          for _, other in ipairs(page and page.accounts or {}) do
            if other.username == name then return question:done("accept", { account = other.account }) end
          end
          if page and page.nextCursor then return search(page.nextCursor) end
          ask.selectAccount(prompt, question)
        end)
      end
      search()
    end)
  end)
end

function ask.confirmAccount(prompt, question)
  local text = ("%s wants to use your %s account."):format(application(prompt), provider(prompt))
  question:select(text, { "Continue as " .. words.account(prompt.accounts[1]), "Not now" }, function(number)
    question:done(number == 1 and "accept" or "cancel")
  end)
end

function ask.replaceAccount(prompt, question)
  local items = vim.list_extend(vim.tbl_map(words.account, prompt.accounts), { "A new account" })
  local text = "%s signed in at %s. Is this a new account, or one of these?"
  question:select(text:format(application(prompt), provider(prompt)), items, function(number)
    local account = prompt.accounts[number]
    question:done("accept", account and { account = account.account })
  end)
end

local PURPOSES = {
  keySlot = "Passphrase of the store", export = "Passphrase for the new file", import = "Passphrase of the file",
}

function ask.enterPassphrase(prompt, question)
  local text = ("%s: %s %s"):format(application(prompt), PURPOSES[prompt.purpose] or "Passphrase", clean(prompt.path))
  if prompt.again or question.differs then
    text = (question.differs and "The two differ. " or "This passphrase does not fit. ") .. text
  end
  question:secret(text, function(passphrase)
    if not prompt.new then return question:done("accept", { passphrase = passphrase }) end
    question:secret("Again", function(again)
      if again == passphrase then return question:done("accept", { passphrase = passphrase }) end
      question.differs = true
      ask.enterPassphrase(prompt, question)
    end)
  end)
end

function ask.enterPassword(prompt, question)
  local server = clean(prompt.server)
  local notes = (prompt.again and "The server refused that user name or password. " or "")
    .. (prompt.secure == false and "Others on the way can read the password. " or "")
    .. (prompt.grantsAccess and ("%s may then use this account%s. "):format(application(prompt), rights(prompt)) or "")
  local function password(username)
    local text = ("%sPassword of %s at %s"):format(prompt.username and notes or "", clean(username), server)
    question:secret(text, function(secret)
      local members = { password = secret, username = not prompt.username and username or nil }
      if not prompt.mayRemember then return question:done("accept", members) end
      question:select("Remember the password in the store?", { "No", "Yes" }, function(number)
        members.remember = number == 2
        question:done("accept", members)
      end)
    end)
  end
  if prompt.username then return password(prompt.username) end
  question:input(("%s%s signs in. User name at %s"):format(notes, application(prompt), server), password)
end

local FAULTS = {
  selfSigned = "is certified by nobody but itself", unknownAuthority = "comes from an unknown authority",
  expired = "has expired", notYetValid = "is not valid yet", otherHost = "belongs to another host",
}

function ask.trustCertificate(prompt, question)
  local text = ("%s: the certificate of %s (%s, port %s) %s, and ends on %s. "):format(
    application(prompt), clean(prompt.server), clean(prompt.host), prompt.port,
    prompt.fault and (FAULTS[prompt.fault] or "is not trusted") or "is trusted",
    os.date("%Y-%m-%d", prompt.certificateEndsAt))
  if prompt.formerPublicKey then
    text = text .. ("The server has another key than before. Before: %s. "):format(clean(prompt.formerPublicKey))
  end
  text = text .. ("Its key: %s. Compare it with that of your server."):format(clean(prompt.publicKey))
  question:select(text, { "Do not connect", "Trust this key" }, function(number)
    question:done(number == 2 and "accept" or "cancel")
  end)
end

--- The kinds of prompt that are questions.
M.kinds = vim.tbl_keys(ask)

return M
