// Exits with 0 where the server of this container is well, else with 1 and one line that says what is wrong.
const { ASYNC_CRUD_MCP_DAEMON__PORT: port = '8720', ASYNC_CRUD_MCP_DAEMON__TOKEN: token = '' } = process.env

try {
  const response = await fetch(`http://127.0.0.1:${port}/health`, {
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(4000)
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`GET /health answered ${response.status}: ${text.slice(0, 500)}`)
} catch (error) {
  process.stderr.write(`async-crud-mcp: not healthy: ${error.cause?.message ?? error.message}\n`)
  process.exitCode = 1
}
