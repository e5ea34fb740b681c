--- Shows the prompts of einlass: questions by vim.ui, and a floating window while the person is in the browser.
local M = {}
local uv = vim.uv or vim.loop

M.kinds = {
  "grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode", "enterVerifier",
  "enterPassphrase", "enterPassword", "trustCertificate",
}

--- Returns text of a provider or of another program as one line without characters that steer a terminal.
function M.clean(text)
  return vim.fn.strtrans(tostring(text or ""))
end
local clean = M.clean

local function application(prompt)
  return clean(prompt.applicationTitle or prompt.application)
end

local function provider(prompt)
  return clean(prompt.providerName or prompt.provider)
end

local READERS = { onlyMe = "only you", friends = "your friends", everyone = "everyone" }

--- Returns the rights of a prompt after a colon, or nothing.
local function rights(prompt)
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

--- Returns an account in words.
function M.account(account)
  local name, username = clean(account.displayName), clean(account.username)
  local shown = name ~= "" and name ~= username and ("%s (%s)"):format(name, username) or username
  local health = { reloginNeeded = "must sign in again", banned = "banned", locked = "locked" }
  return shown .. (account.health and account.health ~= "ok" and " – " .. (health[account.health] or clean(account.health)) or "")
end

-- Questions. One at a time, because the built-in vim.ui waits for its key within the call.

local Question = {}
Question.__index = Question
local waiting, current = {}, nil

local function next_question()
  if current or #waiting == 0 then return end
  current = table.remove(waiting, 1)
  current.ask(current.prompt, current)
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

local function show_question(prompt, answer, request, ask)
  local question = setmetatable({ prompt = prompt, answer = answer, request = request, ask = ask, windows = {} }, Question)
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

local ask = {}

function ask.grantAccess(prompt, question)
  local text = ("%s wants to use your %s account%s."):format(application(prompt), provider(prompt), rights(prompt))
  question:select(text, { "Allow", "Don't allow", "Not now" }, function(number)
    question:done(({ "accept", "decline", "cancel" })[number])
  end)
end

function ask.selectAccount(prompt, question)
  local items = vim.tbl_map(M.account, prompt.accounts)
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
  question:select(text, { "Continue as " .. M.account(prompt.accounts[1]), "Not now" }, function(number)
    question:done(number == 1 and "accept" or "cancel")
  end)
end

function ask.replaceAccount(prompt, question)
  local items = vim.list_extend(vim.tbl_map(M.account, prompt.accounts), { "A new account" })
  local text = ("%s signed in at %s. Is this a new account, or one of these?"):format(application(prompt), provider(prompt))
  question:select(text, items, function(number)
    local account = prompt.accounts[number]
    question:done("accept", account and { account = account.account })
  end)
end

function ask.enterPassphrase(prompt, question)
  local purposes = { keySlot = "Passphrase of the store", export = "Passphrase for the new file", import = "Passphrase of the file" }
  local text = ("%s: %s %s"):format(application(prompt), purposes[prompt.purpose] or "Passphrase", clean(prompt.path))
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
  local text = ("%s: the certificate of %s (%s, port %s) %s, and ends on %s. "):format(application(prompt), clean(prompt.server),
    clean(prompt.host), prompt.port, prompt.fault and (FAULTS[prompt.fault] or "is not trusted") or "is trusted",
    os.date("%Y-%m-%d", prompt.certificateEndsAt))
  if prompt.formerPublicKey then
    text = text .. ("The server has another key than before. Before: %s. "):format(clean(prompt.formerPublicKey))
  end
  text = text .. ("Its key: %s. Compare it with that of your server."):format(clean(prompt.publicKey))
  question:select(text, { "Do not connect", "Trust this key" }, function(number)
    question:done(number == 2 and "accept" or "cancel")
  end)
end

-- Panels: the floating windows of sign-ins. The prompts of one flow share a panel.

local panels = {}

--- The programs that open a page, without vim.ui.open of Neovim 0.10.
M.openers = { "xdg-open", "open", "wslview" }

--- Calls `failed` if no browser opens the address.
local function browse(url, failed)
  if not url:match("^https?://") then return failed() end
  if vim.ui.open then
    local ok, started = pcall(vim.ui.open, url)
    return not (ok and started) and failed()
  end
  for _, opener in ipairs(M.openers) do
    if vim.fn.executable(opener) == 1 then
      -- One argument and no shell.
      return uv.spawn(vim.fn.exepath(opener), { args = { url }, detached = true }, function(code)
        if code ~= 0 then vim.schedule(failed) end
      end)
    end
  end
  failed()
end

local function copy(text)
  vim.fn.setreg('"', text)
  pcall(vim.fn.setreg, "+", text)
end

local function lines_of(panel)
  local page, code, verifier = panel.openURL, panel.deviceCode, panel.enterVerifier
  local prompt = page or code or verifier
  local lines, keys = { ("%s signs in at %s"):format(application(prompt), provider(prompt)), "" }, {}
  local function add(text, ...) table.insert(lines, text:format(...)) end
  if prompt.resource then add("%s wants you to sign in at %s.", clean(prompt.resource), clean(prompt.host)) end
  if code then
    add("Enter this code at %s", clean(code.verificationUri))
    vim.list_extend(lines, { "", "        " .. clean(code.userCode), "" })
    add("%s on this machine asks you to sign in at %s until %s.", application(code), clean(code.host), os.date("%H:%M", code.expiresAt))
    add("Enter only a code that you see in your own %s.", application(code))
    vim.list_extend(keys, { "o open the page", "y copy the code" })
  elseif page then
    add("Sign in at %s in your browser.", clean(page.host))
    if panel.has_failed then vim.list_extend(lines, { "No browser opens here. Open this address:", clean(page.url) }) end
    vim.list_extend(keys, { "o open the page", "y copy its address" })
  end
  if verifier then
    if verifier.again then add("This does not fit.") end
    add(verifier.expects == "pin" and "Then press p and enter the number from the page."
      or "If the last page does not load, press p and paste its address.")
    table.insert(keys, "p paste")
  elseif page and page.returningTo then
    add("At the end press p and paste the address that begins with %s.", clean(page.returningTo))
    table.insert(keys, "p paste")
  end
  if prompt.grantsAccess then add("%s may then use this account%s.", application(prompt), rights(prompt)) end
  table.insert(keys, "<Esc> cancel")
  vim.list_extend(lines, { "", table.concat(keys, "   ") })
  return lines
end

local function press(panel, key)
  local page, code, verifier = panel.openURL, panel.deviceCode, panel.enterVerifier
  if key == "cancel" then
    panel.is_cancelled = true
    panel:hide()
    for _, kind in ipairs({ "openURL", "deviceCode", "enterVerifier" }) do
      if panel[kind] then panel.answers[kind]("cancel") end
    end
  elseif key == "o" and (page or code) then
    browse(page and page.url or code.verificationUriComplete or code.verificationUri, function() panel:failed() end)
  elseif key == "y" and (page or code) then
    copy(page and page.url or code.userCode)
  elseif key == "p" and (verifier or page and page.returningTo) then
    local kind = verifier and "enterVerifier" or "openURL"
    local asked, member = panel[kind], verifier and "text" or "redirectURL"
    local text = verifier and verifier.expects == "pin" and "Number" or "Address"
    -- The address has a code in it: it is not shown and not in a history.
    local ok, reply = pcall(vim.fn.inputsecret, text .. ": ")
    if ok and reply ~= "" and panel[kind] == asked then
      panel.answers[kind]("accept", { [member] = vim.trim(reply) })
    end
  end
end

local Panel = {}
Panel.__index = Panel

function Panel:failed()
  self.has_failed = true
  self:draw()
end

function Panel:draw()
  if not (self.openURL or self.deviceCode or self.enterVerifier) then
    panels = vim.tbl_filter(function(panel) return panel ~= self end, panels)
    return self:hide()
  end
  if self.is_cancelled then return end
  local lines, width, height = lines_of(self), 0, 0
  for _, line in ipairs(lines) do width = math.max(width, vim.fn.strdisplaywidth(line)) end
  width = math.max(20, math.min(width, 76, vim.o.columns - 6))
  for _, line in ipairs(lines) do height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width)) end
  height = math.max(1, math.min(height, vim.o.lines - 4))
  local place = {
    relative = "editor", style = "minimal", border = "rounded", width = width, height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2), col = math.floor((vim.o.columns - width) / 2) - 1,
  }
  if not self.window then
    self.buffer = vim.api.nvim_create_buf(false, true)
    vim.bo[self.buffer].bufhidden, vim.bo[self.buffer].filetype = "wipe", "einlass"
    for key, name in pairs({ ["<Esc>"] = "cancel", q = "cancel", ["<C-c>"] = "cancel", o = "o", y = "y", p = "p" }) do
      vim.keymap.set("n", key, function() press(self, name) end, { buffer = self.buffer, nowait = true })
    end
    vim.cmd("stopinsert")
    self.window = vim.api.nvim_open_win(self.buffer, true, place)
    vim.wo[self.window].wrap = true
    -- A window that the person closes is a cancelled sign-in.
    vim.api.nvim_create_autocmd("BufWipeout", { buffer = self.buffer, once = true, callback = function()
      vim.schedule(function() if self.window then press(self, "cancel") end end)
    end })
  end
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(self.buffer, 0, -1, false, lines)
  vim.bo[self.buffer].modifiable = false
  vim.api.nvim_win_set_config(self.window, place)
  vim.api.nvim_buf_add_highlight(self.buffer, -1, "Title", 0, 0, -1)
  vim.api.nvim_buf_add_highlight(self.buffer, -1, "Comment", #lines - 1, 0, -1)
  if self.deviceCode then vim.api.nvim_buf_add_highlight(self.buffer, -1, "WarningMsg", 4, 0, -1) end
  vim.cmd("redraw")
end

function Panel:hide()
  local window = self.window
  self.window = nil
  if window then pcall(vim.api.nvim_win_close, window, true) end
  vim.cmd("redraw")
end

local function show_panel(prompt, answer)
  local flow = prompt.flows and prompt.flows[1] or prompt.prompt
  local panel = vim.tbl_filter(function(other) return other.flow == flow end, panels)[1]
  if not panel then
    panel = setmetatable({ flow = flow, answers = {}, has_failed = vim.env.SSH_CONNECTION ~= nil }, Panel)
    table.insert(panels, panel)
  end
  panel[prompt.kind], panel.answers[prompt.kind] = prompt, answer
  panel:draw()
  if prompt.kind == "openURL" then press(panel, "o") end
  return {
    close = function()
      if panel[prompt.kind] ~= prompt then return end
      panel[prompt.kind] = nil
      panel:draw()
    end,
    cancel = function() answer("cancel") end,
  }
end

--- Shows a prompt. `answer(action, members)` gets the answer of the person, `request` sends a request for the dialog.
--- Returns the dialog with `close()`, `closing()` and `cancel()`.
function M.show(prompt, answer, request)
  if ask[prompt.kind] then return show_question(prompt, answer, request, ask[prompt.kind]) end
  return show_panel(prompt, answer)
end

--- Takes the keys that the person has typed while Neovim waits for einlass, for the newest panel.
function M.take_keys()
  while #panels > 0 and #vim.api.nvim_list_uis() > 0 and vim.fn.getchar(1) ~= 0 do
    local key = vim.fn.getchar()
    key = type(key) == "number" and vim.fn.nr2char(key) or key
    press(panels[#panels], (key == "\27" or key == "q" or key == "\3") and "cancel" or key)
  end
end

return M
