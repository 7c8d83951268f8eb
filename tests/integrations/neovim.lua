-- Drives Neovim through what a user does with the server, and writes down what it shows. Run with `+luafile`.
local told = {}

local function shown()
  return vim.tbl_map(function(d)
    return { line = d.lnum + 1, column = d.col + 1, code = d.code, source = d.source, message = d.message }
  end, vim.diagnostic.get(0))
end

local function wait_for(number)
  local reached = vim.wait(20000, function() return #vim.diagnostic.get(0) == number end, 10)
  return reached and shown() or { { code = "waited for " .. number .. ", there are " .. vim.inspect(shown()) } }
end

local function buffer()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

-- Take the first action whose title has these words, or the one of a kind.
local function act(words, context)
  local before, titles = vim.b.changedtick, {}
  vim.lsp.buf.code_action({
    context = context,
    apply = true,
    filter = function(action)
      table.insert(titles, action.title)
      return action.title:find(words, 1, true) ~= nil
    end,
  })
  vim.wait(20000, function() return vim.b.changedtick ~= before end, 10)
  return { titles = titles, buffer = buffer() }
end

local function steps()
  told.opened = wait_for(1)
  local client = vim.lsp.get_clients({ bufnr = 0 })[1]
  told.root = client.root_dir
  vim.api.nvim_win_set_cursor(0, { told.opened[1].line, told.opened[1].column })
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  told.hover = vim.lsp.buf_request_sync(0, "textDocument/hover", params, 20000)[client.id].result.contents.value

  told.suppressed = act("noqa")
  told.after_suppressing = wait_for(0)
  vim.cmd("silent undo")
  wait_for(1)
  told.fixed = act("torch.where")
  told.after_fixing = wait_for(0)
  vim.cmd("silent undo")
  wait_for(1)

  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "def broken(:" })
  told.broken = wait_for(2)
  vim.cmd("silent undo")
  wait_for(1)

  local call = "torch.onnx.export(Gate(), (torch.rand(2, 3),), 'm.onnx', example_outputs=None)  # noqa: ONX101"
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "", "", call })
  vim.wait(20000, function() return #vim.diagnostic.get(0) > 1 end, 10)
  told.all_fixed = act("", { only = { "source.fixAll.onnxlint" }, diagnostics = {} })
  vim.cmd("silent undo | silent undo")
  wait_for(1)

  vim.fn.writefile({ 'ignore = ["ONX101"]' }, vim.fs.joinpath(told.root, "onnxlint.toml"))
  told.ignored = wait_for(0)
end

local fine, fault = xpcall(steps, debug.traceback)
told.fault = not fine and fault or nil
vim.fn.writefile({ vim.json.encode(told) }, vim.env.ONNXLINT_TOLD)
vim.cmd("qall!")
