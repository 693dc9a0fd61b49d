// What every answer tells a browser, whatever it is and whichever client asked.

/** Shown in no frame, taken for nothing else than its type says, and its address told to no other site. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer'
} as const
