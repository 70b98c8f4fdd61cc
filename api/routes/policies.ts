/** Nothing from another host, no inline script: the page is its own files and talks to this server only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  'media-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const PAGE_HEADERS = {
  'Content-Security-Policy': `${POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`,
  'Referrer-Policy': 'no-referrer',
};

/**
 * For Swagger UI, served from here as well. It sets styles on its elements, makes them from strings (so no
 * trusted types), and holds its pictures itself.
 */
export const DOCS_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
  "img-src 'self'",
  "img-src 'self' data:",
);

/** Each example of the reference is one file. Its script stands in that file, and its audio worklet in the script. */
export const EXAMPLE_HEADERS = {
  ...PAGE_HEADERS,
  'Content-Security-Policy': POLICY.replace("script-src 'self'", "script-src 'unsafe-inline' blob:"),
};
