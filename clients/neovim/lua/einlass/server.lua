--- The parameters of a sign-in at a server of the person's own, as for fcsdk.
local clean = require("einlass.text").clean

--- Calls `done` with the parameters of `accounts.signIn`, after the person has named the server if the provider needs
--- one. That of the last sign-in is the default. An empty answer ends the sign-in.
return function(params, application, done)
  local einlass = require("einlass")
  if not params.provider or params.server or (params.flowKind or "passwordSession") ~= "passwordSession" then
    return done(params)
  end
  einlass.list("providers.list", "providers", {}, function(providers)
    local found = vim.tbl_filter(function(provider)
      return provider.id == params.provider or vim.tbl_contains(provider.aliases or {}, params.provider)
    end, providers or {})[1]
    -- The sign-in itself reports a provider that is not there.
    if not found or not vim.tbl_contains(found.flowKinds, "passwordSession") then return done(params) end
    local server = { acceptUntrustedCertificates = true }
    params = vim.tbl_extend("force", params, { server = server })
    if params.account then return done(params) end
    einlass.request("settings.get", { provider = found.id }, function(answer)
      local last = answer and answer.server or {}
      vim.ui.input({ prompt = ("Server of %s: "):format(clean(found.name)), default = last.host }, function(reply)
        server.host = vim.trim(reply or "")
        if server.host == "" then return end
        if server.host == last.host then
          server.port, server.secure, server.useCookies = last.port, last.secure, last.useCookies
        end
        done(params)
      end)
    end, application)
  end)
end
