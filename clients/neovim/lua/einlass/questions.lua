--- The prompts that are questions, by vim.ui. One at a time, because the built-in vim.ui waits within the call.
local M = {}
local clean = require("einlass.text").clean

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

--- Lets the person enter a text, and nothing cancels.
function Question:input(text, is_secret, given)
  self:step(function(callback)
    if not is_secret then return vim.ui.input({ prompt = text .. ": " }, callback) end
    local ok, reply = pcall(vim.fn.inputsecret, text .. ": ")
    callback(ok and reply or "")
  end, function(reply)
    reply = is_secret and reply or vim.trim(reply or "")
    if reply ~= "" then given(reply) else self:done("cancel") end
  end)
end

--- Returns the parts of a prompt above its answers, as one line.
local function heading(show)
  local parts = vim.list_extend({ show.title }, show.text or {})
  if show.warning then table.insert(parts, 1, show.warning) end
  return clean(table.concat(parts, " "))
end

local function label_of(choice)
  return choice.detail and ("%s (%s)"):format(clean(choice.label), clean(choice.detail)) or clean(choice.label)
end

--- Returns the choices and the buttons of a form. Pickers choose the first row by Enter, so it is the default button,
--- else a choice, else the button that cancels.
local function rows_of(show)
  local first
  for _, button in ipairs(show.buttons) do
    if button.default or not first and not show.choices and button.action == "cancel" then first = button end
  end
  local rows = vim.list_extend({ first }, show.choices or {})
  for _, button in ipairs(show.buttons) do
    if button ~= first then table.insert(rows, button) end
  end
  return rows
end

--- Calls `found` with the id of the account that the person names, by its id or its user name; else `failed`.
local function find_account(question, prompt, name, found, failed)
  if vim.startswith(name, "a_") then return found(name) end
  local function search(cursor)
    question.request("accounts.list", { provider = prompt.provider, cursor = cursor }, function(page)
      for _, account in ipairs(page and page.accounts or {}) do
        if account.username == name then return found(account.account) end
      end
      if page and page.nextCursor then return search(page.nextCursor) end
      failed()
    end)
  end
  search()
end

--- Asks for the fields of a prompt from this number on. `text` stands before the label of the first one.
local function enter(prompt, question, number, text, members)
  local field = (prompt.show.fields or {})[number]
  if not field then return question:done("accept", next(members) and members) end
  local label = clean(field.label)
  local function given(value)
    members[field.name] = value
    enter(prompt, question, number + 1, "", members)
  end
  if field.type == "flag" then
    return question:select(text .. label .. "?", { "No", "Yes" }, function(choice) given(choice == 2) end)
  end
  question:input(text .. label, field.type ~= "text", function(reply)
    if field.name == "account" then
      return find_account(question, prompt, reply, given, function() question.start() end)
    end
    if not field.twice then return given(reply) end
    question:input("Again", true, function(again)
      if again == reply then return given(reply) end
      enter(prompt, question, number, "The two differ. " .. text, members)
    end)
  end)
end

local function ask(prompt, question)
  local show, rows = prompt.show, rows_of(prompt.show)
  local text = heading(show)
  if not show.choices and show.fields then return enter(prompt, question, 1, text .. " ", {}) end
  question:select(text, vim.tbl_map(label_of, rows), function(number)
    local row = rows[number]
    if row.answer then
      local members = vim.deepcopy(row.answer)
      members.action = nil
      return question:done(row.answer.action, next(members) and members)
    end
    if row.action ~= "accept" then return question:done(row.action) end
    enter(prompt, question, 1, "", {})
  end)
end

--- Asks the question of a prompt, as `show` of prompts.lua.
function M.show(prompt, answer, request)
  local question = setmetatable({ answer = answer, request = request, windows = {} }, Question)
  question.start = function() ask(prompt, question) end
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

return M
