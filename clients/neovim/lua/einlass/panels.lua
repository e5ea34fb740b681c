--- The prompts of a sign-in elsewhere, in a floating window. The prompts of one flow share a window.
local M = {}
local uv = vim.uv or vim.loop
local words, windows = require("einlass.text"), require("einlass.window")
local clean, application, provider, rights = words.clean, words.application, words.provider, words.rights

local panels = {}

--- The programs that open a page, without vim.ui.open of Neovim 0.10.
M.openers = { "xdg-open", "open", "wslview" }

--- Opens an address in the browser. Calls `failed` if that does not work.
local function browse(url, failed)
  if not url:match("^https?://") then return failed() end
  if vim.ui.open then
    local ok, started = pcall(vim.ui.open, url)
    if not ok or not started then return failed() end
    local function watch()
      if not started:is_closing() then return vim.defer_fn(watch, 100) end
      if started:wait().code ~= 0 then failed() end
    end
    return type(started) == "table" and started.is_closing and watch()
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
    panel.code_line = #lines - 2
    local ends = os.date("%H:%M", code.expiresAt)
    add("%s on this machine asks you to sign in at %s until %s.", application(code), clean(code.host), ends)
    add("Enter only a code that you see in your own %s.", application(code))
    vim.list_extend(keys, { "o open the page", "y copy the code" })
  elseif page then
    add("Sign in at %s in your browser.", clean(page.host))
    if panel.has_failed then
      vim.list_extend(lines, { "No browser opens here. Open this address:", clean(page.url) })
    end
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
    panel.typing = asked
    local ok, reply = pcall(vim.fn.inputsecret, text .. ": ")
    panel.typing = nil
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
  local lines = lines_of(self)
  if self.window then
    windows.draw(self.buffer, self.window, lines)
  else
    local keys = { ["<Esc>"] = "cancel", q = "cancel", ["<C-c>"] = "cancel", o = "o", y = "y", p = "p" }
    self.window, self.buffer = windows.open(lines, vim.tbl_map(function(name)
      return function() press(self, name) end
    end, keys))
    -- A window that the person closes is a cancelled sign-in.
    vim.api.nvim_create_autocmd("BufWipeout", { buffer = self.buffer, once = true, callback = function()
      vim.schedule(function() if self.window then press(self, "cancel") end end)
    end })
  end
  vim.api.nvim_buf_add_highlight(self.buffer, -1, "MoreMsg", #lines - 1, 0, -1)
  if self.deviceCode then
    local ends = 10 + #clean(self.deviceCode.userCode)
    vim.api.nvim_buf_add_highlight(self.buffer, -1, "IncSearch", self.code_line, 8, ends)
  end
  vim.cmd("redraw")
end

function Panel:hide()
  local window = self.window
  self.window = nil
  if window then windows.close(window) end
end

--- Shows a prompt in the panel of its flow, as `show` of prompts.lua.
function M.show(prompt, answer)
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
    closing = function()
      if panel.typing == prompt then vim.api.nvim_input("<Esc>") end
    end,
    close = function()
      if panel[prompt.kind] ~= prompt then return end
      panel[prompt.kind] = nil
      panel:draw()
    end,
    cancel = function() answer("cancel") end,
  }
end

--- Takes the keys that the person has typed while Neovim waits for einlass, for the newest panel. `cancel` is called
--- for each Escape and Ctrl-C, with whether a panel has had it. Without a panel other keys stay for Neovim.
function M.take_keys(cancel)
  while #vim.api.nvim_list_uis() > 0 do
    local key = vim.fn.getchar(1)
    if key == 0 or #panels == 0 and key ~= 27 and key ~= 3 then return end
    key = vim.fn.getchar()
    key = type(key) == "number" and vim.fn.nr2char(key) or key
    local panel, is_end = panels[#panels], key == "\27" or key == "\3"
    if panel then press(panel, (is_end or key == "q") and "cancel" or key) end
    if is_end then cancel(panel ~= nil) end
  end
end

return M
