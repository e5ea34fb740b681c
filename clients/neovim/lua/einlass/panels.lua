--- The prompts of a sign-in elsewhere, in a floating window. The prompts of one flow share a window.
local M = {}
local uv = vim.uv or vim.loop
local clean, windows = require("einlass.text").clean, require("einlass.window")

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

--- Returns the first prompt of a panel whose form has this element, and the element.
local function first(panel, element)
  for _, prompt in ipairs(panel.prompts) do
    if prompt.show[element] then return prompt, prompt.show[element] end
  end
end

local function lines_of(panel)
  local lines, keys = {}, {}
  local function add(text) table.insert(lines, clean(text)) end
  for _, prompt in ipairs(panel.prompts) do
    local show = prompt.show
    add(show.title)
    if #lines == 1 then add("") end
    if show.page and (show.code or panel.has_failed) then
      if not show.code then add("No browser opens here. Open this address:") end
      add(show.page.url)
    end
    if show.code then
      vim.list_extend(lines, { "", "        " .. clean(show.code), "" })
      panel.code_line = #lines - 2
      add("This code is good until " .. os.date("%H:%M", prompt.expiresAt) .. ".")
    end
    if show.warning then add(show.warning) end
    for _, text in ipairs(show.text or {}) do add(text) end
  end
  if first(panel, "page") then table.insert(keys, "o open the page") end
  if first(panel, "code") then table.insert(keys, "y copy the code")
  elseif first(panel, "page") then table.insert(keys, "y copy its address") end
  if first(panel, "fields") then table.insert(keys, "p paste") end
  table.insert(keys, "<Esc> cancel")
  vim.list_extend(lines, { "", table.concat(keys, "   ") })
  return lines
end

--- Asks for the fields of the prompt that has them last.
local function enter(panel)
  local asked
  for _, prompt in ipairs(panel.prompts) do asked = prompt.show.fields and prompt or asked end
  if not asked then return end
  local members = {}
  panel.typing = asked
  for _, field in ipairs(asked.show.fields) do
    -- The address has a code in it: it is not shown and not in a history.
    local ok, reply = pcall(vim.fn.inputsecret, clean(field.label) .. ": ")
    members[field.name] = ok and reply ~= "" and vim.trim(reply) or nil
  end
  panel.typing = nil
  if next(members) and vim.tbl_contains(panel.prompts, asked) then panel.answers[asked]("accept", members) end
end

local function press(panel, key)
  local prompt, page = first(panel, "page")
  local _, code = first(panel, "code")
  if key == "cancel" then
    panel.is_cancelled = true
    panel:hide()
    for _, open in ipairs(panel.prompts) do panel.answers[open]("cancel") end
  elseif key == "o" and page then
    browse(prompt.verificationUriComplete or page.url, function() panel:failed() end)
  elseif key == "y" and page then
    copy(code or page.url)
  elseif key == "p" then
    enter(panel)
  end
end

local Panel = {}
Panel.__index = Panel

function Panel:failed()
  self.has_failed = true
  self:draw()
end

function Panel:draw()
  if #self.prompts == 0 then
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
  local _, code = first(self, "code")
  if code then
    local ends = 10 + #clean(code)
    vim.api.nvim_buf_add_highlight(self.buffer, -1, "IncSearch", self.code_line, 8, ends)
  end
  vim.cmd("redraw")
end

function Panel:hide()
  local window = self.window
  self.window = nil
  if window then windows.close(window) end
end

local function flow_of(prompt)
  return prompt.flows and prompt.flows[1] or prompt.prompt
end

--- Shows a prompt in the panel of its flow, as `show` of prompts.lua.
function M.show(prompt, answer)
  local panel = vim.tbl_filter(function(open) return open.flow == flow_of(prompt) end, panels)[1]
  if not panel then
    local has_failed = vim.env.SSH_CONNECTION ~= nil
    panel = setmetatable({ flow = flow_of(prompt), prompts = {}, answers = {}, has_failed = has_failed }, Panel)
    table.insert(panels, panel)
  end
  -- The page stands first, though the text to paste may have come before it.
  table.insert(panel.prompts, prompt.show.page and 1 or #panel.prompts + 1, prompt)
  panel.answers[prompt] = answer
  panel:draw()
  if prompt.show.page and not prompt.show.code then press(panel, "o") end
  return {
    closing = function()
      if panel.typing == prompt then vim.api.nvim_input("<Esc>") end
    end,
    close = function()
      panel.prompts = vim.tbl_filter(function(open) return open ~= prompt end, panel.prompts)
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
