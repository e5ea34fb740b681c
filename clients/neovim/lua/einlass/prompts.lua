--- Shows the prompts of einlass: questions by vim.ui, and a floating window while the person is in the browser.
local M = {}
local questions, panels = require("einlass.questions"), require("einlass.panels")

M.kinds = { "any" }

--- Returns whether the person enters the answer beside the page of its flow.
local function is_beside(show)
  local fields = show.fields or {}
  return #fields == 1 and fields[1].type == "text" and not show.choices
end

--- Shows a prompt. `answer(action, members)` gets the answer of the person, `request` sends a request for the dialog.
--- Returns the dialog with `close()`, `cancel()` and perhaps `closing()`, as |einlass-connect| has them.
function M.show(prompt, answer, request)
  -- The text to paste may come before its page.
  if prompt.show.page or is_beside(prompt.show) then return panels.show(prompt, answer) end
  return questions.show(prompt, answer, request)
end

return M
