--- Shows the prompts of einlass: questions by vim.ui, and a floating window while the person is in the browser.
local M = {}
local questions, panels = require("einlass.questions"), require("einlass.panels")

M.kinds = vim.list_extend({ "openURL", "deviceCode", "enterVerifier" }, questions.kinds)

--- Shows a prompt. `answer(action, members)` gets the answer of the person, `request` sends a request for the dialog.
--- Returns the dialog with `close()`, `cancel()` and perhaps `closing()`, as |einlass-connect| has them.
function M.show(prompt, answer, request)
  if vim.tbl_contains(questions.kinds, prompt.kind) then return questions.show(prompt, answer, request) end
  return panels.show(prompt, answer)
end

return M
