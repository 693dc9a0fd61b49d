// The headers that every answer gives a browser, whatever the request.

/** No frame may show it, its type is taken literally, and no other site learns its address. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer'
} as const
