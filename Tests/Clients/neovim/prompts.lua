-- Shows one prompt of each kind to a person that answers by REPLIES, and prints the questions and the answers as JSON.
local prompts, results = require("einlass.prompts"), {}

for _, case in ipairs(vim.json.decode(vim.env.CASES)) do
  local asked, answer, replies = {}, nil, case.replies
  local function reply(text)
    table.insert(asked, text)
    return table.remove(replies, 1)
  end
  vim.ui.select = function(items, options, chosen)
    local number = reply(options.prompt .. " [" .. table.concat(items, "|") .. "]")
    if type(number) ~= "number" then number = nil end
    chosen(items[number or 0], number)
  end
  vim.ui.input = function(options, given) given(reply(options.prompt)) end
  vim.fn.inputsecret = function(text) return reply("secret " .. text) or "" end
  local function request(_, params, callback)
    callback(case.pages[params.cursor or "first"])
  end
  prompts.show(case.prompt, function(action, members) answer = { action = action, members = members } end, request)
  assert(vim.wait(10000, function() return answer end, 5), "no answer to " .. case.prompt.kind)
  table.insert(results, { asked = asked, answer = answer })
end
io.write(vim.fn.json_encode(results), "\n")
