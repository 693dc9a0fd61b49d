// The page at /docs: shows the contract of the server that served it. It speaks to that server alone.
async function show() {
  const response = await fetch('/openapi.json')
  const spec = await response.json()
  // The document names the default address; this server may have another port or name, and only its own is tried out.
  spec.servers = [{ url: location.origin, description: 'This server.' }]
  globalThis.SwaggerUIBundle({ spec, dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null })
}

void show()
