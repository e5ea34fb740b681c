-- The commands. Nothing runs before one of them is used.
if vim.g.loaded_einlass or vim.fn.has("nvim-0.7") == 0 then return end
vim.g.loaded_einlass = true

vim.api.nvim_create_user_command("Einlass", function(command)
  require("einlass.command").run(command.fargs)
end, {
  nargs = "*", desc = "Sign in, and look after accounts and access",
  complete = function(lead, line) return require("einlass.command").complete(lead, line) end,
})
vim.api.nvim_create_user_command("EinlassCancel", function() require("einlass").cancel() end, {
  desc = "Cancel each open prompt and each running sign-in",
})
