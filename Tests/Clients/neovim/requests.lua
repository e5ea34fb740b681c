-- A plugin that sends requests to the address in the variable GATE. It prints one line for each line of its input.
local einlass = require("einlass")
local options = { provider = "gitlab", client = "my-plugin", title = "My Plugin", interactive = false }

local function status(token)
  local config = ('url = "%s"\nheader = "Authorization: Bearer %s"'):format(vim.env.GATE, token)
  return vim.trim(vim.fn.system({ "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--config", "-" }, config))
end

local first = assert(einlass.token(options))
local steps = {
  { "first", function() return first end },
  { "refreshed", function() return assert(einlass.token(options)) end },
  { "after the 401", function() return assert(einlass.reject(first)) end },
}
local tokens = {}
for _, step in ipairs(steps) do
  io.read("*l")
  local token = step[2]()
  tokens[step[1]] = token
  io.write(step[1], " ", status(token), "\n")
  io.flush()
end
-- Only a token that is not replaced yet costs a refresh.
io.write(tokens["after the 401"] == tokens.refreshed and "the same token\n" or "another token\n")
io.write(assert(einlass.reject(tokens.refreshed)) ~= tokens.refreshed and "a new token\n" or "the same token\n")
