-- Questions by a vim.ui.select that opens a window and returns at once, as plugins have it. The first and the second
-- prompt close by themselves, the second before its turn.
local prompts = require("einlass.prompts")
local asked, answers, choose = {}, {}, nil
vim.ui.select = function(items, options, chosen)
  table.insert(asked, options.prompt)
  local place = { relative = "editor", row = 1, col = 1, width = 9, height = 3 }
  vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, place)
  choose = function()
    vim.api.nvim_win_close(0, true)
    chosen(items[1], 1)
  end
end

local function show(number, title)
  local prompt = {
    kind = "grantAccess", show = { title = title, buttons = { { action = "accept", label = "Allow" } } },
  }
  return prompts.show(prompt, function(action) answers[tostring(number)] = action end)
end

local function until_true(condition)
  assert(vim.wait(10000, condition, 5))
end

local first, second = show(1, "My Plugin"), show(2, "Second")
show(3, "Third")
until_true(function() return #asked == 1 end)
for _, dialog in ipairs({ second, first }) do
  dialog.closing()
  dialog.close()
end
until_true(function() return #asked == 2 end)
choose()
io.write(vim.json.encode({ asked = asked, answers = answers, windows = #vim.api.nvim_list_wins() }))
