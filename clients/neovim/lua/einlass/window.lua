--- Floating windows with text.
local M = {}
--- The buffer of each open window.
local buffers = {}

--- Returns the number of rows that a line needs. Neovim breaks it after the characters of 'breakat'.
local function rows(line, width)
  local count, column, at = 1, 0, "[ !@*%-+;:,./?]*"
  for piece in line:gmatch("[^" .. at:sub(2) .. at) do
    local size = vim.fn.strdisplaywidth(piece)
    if column > 0 and column + size > width then count, column = count + 1, 0 end
    column = column + size
    while column > width do count, column = count + 1, column - width end
  end
  return count
end

--- Returns the configuration of a window in the middle that has room for these lines.
local function place(lines)
  local width, height = 20, 0
  for _, line in ipairs(lines) do width = math.max(width, vim.fn.strdisplaywidth(line)) end
  width = math.max(1, math.min(width, vim.o.columns - 6))
  for _, line in ipairs(lines) do height = height + rows(line, width) end
  height = math.max(1, math.min(height, vim.o.lines - 4))
  return {
    relative = "editor", style = "minimal", border = "rounded", width = width, height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2), col = math.floor((vim.o.columns - width) / 2) - 1,
  }
end

--- Draws lines in a buffer and its window. The first line is a heading.
function M.draw(buffer, window, lines)
  lines = vim.tbl_map(function(line) return " " .. line .. " " end, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_win_set_config(window, place(lines))
  vim.api.nvim_buf_add_highlight(buffer, -1, "Title", 0, 0, -1)
  vim.cmd("redraw")
end

--- Opens a window with lines. `keys` has a function for each key of normal mode; without it, <Esc> and q close the
--- window. Returns the window and its buffer, which ends with it.
function M.open(lines, keys)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = "wipe", "einlass"
  vim.cmd("stopinsert")
  local window = vim.api.nvim_open_win(buffer, true, place(lines))
  -- The highlights of text are readable on Normal in each colour scheme, but not on NormalFloat.
  vim.wo[window].winhighlight = "NormalFloat:Normal,FloatBorder:Normal"
  vim.wo[window].wrap, vim.wo[window].linebreak = true, true
  local function close() M.close(window) end
  for key, action in pairs(keys or { ["<Esc>"] = close, q = close }) do
    vim.keymap.set("n", key, action, { buffer = buffer, nowait = true })
  end
  M.draw(buffer, window, lines)
  buffers[window] = buffer
  return window, buffer
end

--- Closes a window, if it is still there, and each split of it.
function M.close(window)
  local buffer = buffers[window]
  buffers[window] = nil
  pcall(vim.api.nvim_win_close, window, true)
  if buffer then pcall(vim.api.nvim_buf_delete, buffer, { force = true }) end
  vim.cmd("redraw")
end

return M
